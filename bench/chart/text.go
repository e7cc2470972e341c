package chart

import (
	"strings"
	"unicode/utf8"
)

// escape makes text safe in XML. What XML has no characters for is left out.
func escape(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '&':
			out.WriteString("&amp;")
		case r == '<':
			out.WriteString("&lt;")
		case r == '>':
			out.WriteString("&gt;")
		case r == '"':
			out.WriteString("&quot;")
		case r == '\n' || r == '\t':
			out.WriteByte(' ')
		case r < ' ' || r == utf8.RuneError || r == 0xFFFE || r == 0xFFFF:
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// width estimates how wide the text is in a sans-serif font of the given size,
// rather too wide than too narrow, as the reader's font is not known here.
func width(text string, size float64) float64 {
	em := 0.0
	for _, r := range text {
		switch {
		case strings.ContainsRune("iljI.,:;'|![] ", r):
			em += 0.32
		case strings.ContainsRune("ftr()-/", r):
			em += 0.40
		case strings.ContainsRune("mwMW@%", r):
			em += 0.90
		case r >= 0x2E80: // the scripts of East Asia
			em += 1
		case r >= 'A' && r <= 'Z':
			em += 0.69
		default:
			em += 0.62
		}
	}
	return em * size
}

// wrap breaks text between words into lines that are at most limit wide, unless
// a single word is wider.
func wrap(text string, size, limit float64) []string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		line := &lines[len(lines)-1]
		switch {
		case *line == "":
			*line = word
		case width(*line+" "+word, size) <= limit:
			*line += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// widest is the width of the widest of the texts.
func widest(texts []string, size float64) float64 {
	w := 0.0
	for _, t := range texts {
		w = max(w, width(t, size))
	}
	return w
}

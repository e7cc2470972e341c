package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is drawn to the golden files")

// texts returns the text of all elements of a kind, or fails if the document is
// not well-formed.
func texts(t *testing.T, svg []byte, element string) []string {
	t.Helper()
	var out []string
	inside := false
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if inside = token.Name.Local == element; inside {
				out = append(out, "")
			}
		case xml.CharData:
			if inside {
				out[len(out)-1] += string(token)
			}
		case xml.EndElement:
			inside = false
		}
	}
}

// group makes a group of bars with the given values, of the series a, b and so
// on, and whiskers around them.
func group(label string, values ...float64) Group {
	g := Group{Label: label}
	for i, v := range values {
		g.Bars = append(g.Bars, Bar{Label: string(rune('a' + i)), Value: v, Low: v * 0.9, High: v * 1.125})
	}
	return g
}

func TestGolden(t *testing.T) {
	for name, svg := range map[string][]byte{
		"linear.svg": Bars("Locks: <one> server", "operations per second", []Group{group("uncontended", 1390, 1379, 40), group("two sessions & more", 1740, math.NaN())}),
		"log.svg":    Bars("Locks", "operations per second", []Group{group("uncontended", 1390, 1379), group("a label that is long enough to be wrapped", 1740, 25.7)}),
	} {
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, svg, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(svg, want) {
			t.Errorf("%s: the drawing has changed; look at what this test writes with -update:\n%s", path, svg)
		}
		texts(t, svg, "text")
	}
}

func TestTextIsEscaped(t *testing.T) {
	label := `<b> & "c"` + "\x00\xff"
	svg := Bars(label, label, []Group{{Label: label, Bars: []Bar{{Label: label, Value: 1}}}})
	got, want := texts(t, svg, "text"), `<b> & "c"`
	// The title, the legend, the unit and the group.
	if n := len(slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s != want })); n != 4 {
		t.Errorf("the texts are %q, expected %q among them 4 times", got, want)
	}
}

func TestLogarithmicAxisSaysSo(t *testing.T) {
	for _, c := range []struct {
		values []float64
		log    bool
	}{
		{[]float64{1, 50}, false},
		{[]float64{1, 51}, true},
		{[]float64{0, 50}, false}, // no axis has a place for nothing beside something
		{[]float64{math.NaN(), 1, 2}, false},
		{[]float64{1e-320, 1e-300}, false},
	} {
		got := texts(t, Bars("", "unit", []Group{group("", c.values...)}), "text")
		if said := slices.Contains(got, "unit (logarithmic scale)"); said != c.log {
			t.Errorf("%v: the texts are %q, expected a logarithmic scale: %v", c.values, got, c.log)
		}
	}
}

// Whatever is drawn is finite and on the card.
func TestAllIsOnTheCard(t *testing.T) {
	long := strings.Repeat("x", 60)
	for _, values := range [][]float64{
		nil, {0}, {0, 0}, {math.NaN()}, {math.Inf(1), -1}, {1e-320}, {1e-320, 1}, {math.MaxFloat64, 1},
		{1e-9, 1e15}, {1e15}, {1e-9}, {0.3}, {99.99, 100}, {123456789}, {5, 20, 200, 1e4, 1e6, 3, 4, 5, 6, 7},
	} {
		svg := string(Bars("title", "unit", []Group{group("one two", values...), group(long), {}}))
		texts(t, []byte(svg), "text")
		for _, bad := range []string{"NaN", "Inf", `="-`, `M-`} {
			if strings.Contains(svg, bad) {
				t.Errorf("%v: %q is in the drawing:\n%s", values, bad, svg)
			}
		}
		d := newDrawing("", "", []Group{group("", values...)})
		for _, b := range d.groups[0].Bars {
			if end := d.x(b.reach()) + gap + width(b.text(), valueSize); end > chartWidth-margin+1 {
				t.Errorf("%v: the text %s ends at %v, which is in the margin", values, b.text(), end)
			}
		}
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.00123: "0.00123", 0.95: "0.95", 1: "1", 1.256: "1.26", 12.34: "12.3", 99: "99",
		100: "100", 1407.4: "1,407", 10830: "10,830", 1234567: "1,234,567",
	} {
		if got := number(v); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
}

func TestTicksAreRound(t *testing.T) {
	for _, c := range []struct {
		scale scale
		want  []string
	}{
		{linearScale(1740), []string{"0", "500", "1,000", "1,500", "2,000"}},
		{linearScale(1), []string{"0", "0.2", "0.4", "0.6", "0.8", "1"}},
		{linearScale(0.3), []string{"0", "0.1", "0.2", "0.3"}},
		{logScale(20, 1740), []string{"10", "100", "1,000"}},
		{logScale(0.019, 1), []string{"0.001", "0.01", "0.1", "1"}},
	} {
		var got []string
		for _, tick := range c.scale.ticks {
			got = append(got, number(tick))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("the ticks of %+v are %q, want %q", c.scale, got, c.want)
		}
	}
}

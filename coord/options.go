package coord

// RecipeOption changes how a recipe joins its queue. The options are the same
// for all recipes.
type RecipeOption func(*RecipeOptions)

// RecipeOptions is what the options have set, for authors of recipes.
type RecipeOptions struct {
	Session *Session // nil: the session that the client shares
}

// WithSession makes a recipe use s, which the caller opened and closes, and
// not the session that the client shares. The loss of one is then not the loss
// of the other; and once s is over, the recipe fails rather than going on with
// another session. If s belongs to another client, or is nil, as NewSession returns it
// with an error, every call fails with an error that Is ErrInvalid.
func WithSession(s *Session) RecipeOption {
	if s == nil {
		s = new(Session) // of no client, which is no recipe's
	}
	return func(o *RecipeOptions) { o.Session = s }
}

package fleet

// Prior is what is thought of a model's quality at one task before anyone
// measured it here.
type Prior struct {
	// Value is the share of such requests it is taken to answer well, 0 to 1.
	Value float64 `json:"value"`
	// Provenance says who thinks so: "operator", or the sources and date of a
	// published score.
	Provenance string `json:"provenance"`
}

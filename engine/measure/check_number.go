package measure

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// number is an exact number as text.
type number string

func (n number) example() string { return "The answer is " + string(n) + "." }

func (n number) valid() error {
	if _, ok := new(big.Rat).SetString(string(n)); !ok {
		return fmt.Errorf("%q is no number", string(n))
	}
	return nil
}

func (n number) judge(answer string) string {
	want, _ := new(big.Rat).SetString(string(n))
	got, why := stated(answer)
	switch {
	case why != "":
		return why
	case got.Cmp(want) != 0:
		return fmt.Sprintf("says %s, not %s", got.RatString(), string(n))
	}
	return ""
}

var (
	numeral = regexp.MustCompile(`[-−–]?(?:\d{1,3}(?:[,' _\x{00a0}\x{202f}]\d{3})+|\d+)(?:\.\d+)?(?:\s*/\s*\d+(?:\.\d+)?)?`)
	either  = regexp.MustCompile(`(?i)^[^\d]*\bor\b`)
	// operator begins what follows the first number of a calculation.
	operator = regexp.MustCompile(`^\s*(?:[-+*/×·^÷−]|\\times|\\cdot)`)
	latex    = strings.NewReplacer(`{,}`, ",", `\,`, "", `\!`, "", `\$`, "", `$`, "", `\(`, "", `\)`, "", `\[`, "", `\]`, "", `\text`, "", `\%`, "%")
	frac     = regexp.MustCompile(`\\[dt]?frac\{(-?\d+)\}\{(\d+)\}`)
)

// stated reads the number an answer comes to. An answer that leaves a choice
// states none.
func stated(answer string) (*big.Rat, string) {
	segment, marked := final(answer)
	segment = frac.ReplaceAllString(latex.Replace(segment), "$1/$2")
	if at := numeral.FindStringIndex(segment); at != nil && operator.MatchString(segment[at[1]:]) {
		// a calculation: its result stands behind the sign
		if i := strings.LastIndexByte(segment, '='); i >= 0 && numeral.MatchString(segment[i:]) {
			segment = segment[i+1:]
		}
	}
	all := numeral.FindAllStringIndex(segment, -1)
	if all == nil {
		if marked {
			return nil, "the answer it marks is no number"
		}
		return nil, "it ends with no number"
	}
	at := all[0]
	if !marked {
		at = all[len(all)-1] // the last line may be a sentence that repeats the givens
	} else if rest := segment[at[1]:]; len(all) > 1 && either.MatchString(rest) {
		return nil, "it names more than one number"
	}
	text := strings.NewReplacer(",", "", "'", "", "_", "", " ", "", "\u00a0", "", "\u202f", "", "−", "-", "–", "-").Replace(segment[at[0]:at[1]])
	v, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, "the number cannot be read"
	}
	return v, ""
}

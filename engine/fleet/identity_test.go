package fleet

import "testing"

const (
	oneDigest   = "0a109f422b47e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f"
	otherDigest = "0a109f422b48e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f"
)

func TestIdentitiesMatchAsPeopleCopyThem(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{oneDigest, oneDigest, true},
		{oneDigest, "sha256:" + oneDigest, true},
		{oneDigest, "SHA256:0A109F422B47", true},
		{oneDigest, "0a109f422b4", false}, // eleven digits are too few
		{oneDigest, otherDigest, false},
		{oneDigest, "0a109f422b48", false},
		{"nomic-v1.5", "nomic-v1.5", true},
		{"nomic-v1.5", "nomic-v1", false},
		{"nomic-v1.5", "NOMIC-v1.5", false}, // a name of the owner's is what it is
		{"", "", false},
		{"", oneDigest, false},
	} {
		if SameIdentity(c.a, c.b) != c.want || SameIdentity(c.b, c.a) != c.want {
			t.Errorf("%q and %q: want %v", c.a, c.b, c.want)
		}
	}
	if got := ShortIdentity("sha256:" + oneDigest); got != "0a109f422b47" || !SameIdentity(got, oneDigest) {
		t.Errorf("short is %q", got)
	}
	if got := ShortIdentity("nomic-v1.5"); got != "nomic-v1.5" {
		t.Errorf("short is %q", got)
	}
}

func TestWhatIsReportedOutweighsWhatIsDeclared(t *testing.T) {
	for _, c := range []struct {
		d         Deployment
		known, is bool
	}{
		{Deployment{Digest: oneDigest}, true, true},
		{Deployment{DeclaredIdentity: oneDigest[:12]}, true, true},
		{Deployment{Digest: otherDigest, DeclaredIdentity: oneDigest}, true, false},
		{Deployment{ID: DeploymentID{Model: "nomic"}}, false, false},
	} {
		if _, known := c.d.KnownIdentity(); known != c.known || c.d.HasIdentity(oneDigest) != c.is {
			t.Errorf("%+v: known %v, is it %v", c.d, known, c.d.HasIdentity(oneDigest))
		}
	}
}

package engine

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellwether/engine/runtime/runtimetest"
)

// shown says which tests show that a fault that users reported of similar
// software is not ours. Nobody drops one silently: the tests must exist, and
// the list must be whole.
var shown = map[string][]string{
	// Wire protocols.
	"W-01": {"TestACalledToolIsTheFinishReason"},
	"W-02": {"TestThinkingAfterTextOpensABlockOfItsOwn"},
	"W-03": {"TestOnlyToolUseBlocksHaveAnInput"},
	"W-04": {"TestArgumentsOfACallReachEveryClientWhole"},
	"W-05": {"TestUsageIsTheRuntimesOwnInEveryProtocol"},
	"W-06": {"TestTextAndHTMLErrorsOfARuntimeKeepTheirStatus"},
	"W-07": {"TestErrorsHaveTheirProtocolsShapeWhateverTheStatus", "TestABusyRuntimeIs429WithRetryAfterInEveryProtocol", "TestTheOfficialClientsUnderstandOurErrors"},
	"W-08": {"TestResponsesTakesRoleShorthandAndNestedTools"},
	"W-09": {"TestCallIDsAndOrderSurviveTheRoundTrip"},
	"W-10": {"TestAbsentFieldsOfADeltaAreLeftOut"},
	"W-11": {"TestReasoningTokensAreNeverAFalseZero"},
	"W-12": {"TestEveryPieceOfThinkingReachesTheClient"},
	"W-13": {"TestGenerateFillsTheFieldItPromises"},
	"W-14": {"TestThinkingThatUsesUpTheLimitIsReported"},
	"W-15": {"TestEmbeddingsComeInTheEncodingThatWasAsked", "TestTheOpenAIClientGetsStructuredOutputImagesAndEmbeddings"},
	"W-16": {"TestKeepAliveReachesTheRuntimeUntouched"},
	"W-17": {"TestAPromptThatDoesNotFitIsRefusedWithReasonAndRemedy"},
	"W-18": {"TestANumCtxNoLargerThanLoadedNeverReloads"},
	"W-19": {"TestANameAndItsLatestTagAreOneModel"},
	"W-20": {"TestModelIDsWithSlashesAndColonsWorkInPaths"},
	"W-21": {"TestCommentsOfARuntimeAreIgnored", "TestAStreamThatWaitsIsOpenedWithSignsOfLife"},
	"W-22": {"TestAStreamThatWaitsIsOpenedWithSignsOfLife", "TestAnErrorAfterTheStreamWasOpenedComesInBand"},
	"W-23": {"TestStreamsTellProxiesNotToBuffer"},
	"W-24": {"TestRunesCutByTheNetworkArriveWhole"},
	"W-25": {"TestAClientThatLeavesFreesEverything", "TestAClientThatLeavesWhileWaitingIsForgotten", "TestAnAbortByAnOfficialClientFreesTheSlot", "TestNothingLeaksInAStorm"},
	"W-26": {"TestAFragileRuntimeIsDrainedInsteadOfAborted"},
	"W-27": {"TestUnknownFieldsAreIgnoredAndPassedOnToTheirOwnRuntime"},
	"W-28": {"TestAStreamThatBreaksEndsInOneErrorAndNoFalseEnd"},
	"W-29": {"TestTheWholeMetadataSurfaceOfOllamaIsThere"},

	// Security.
	"S-01": {"TestNamesAndDigestsThatLeaveTheirPlaceReachNoRuntime"},
	"S-02": {"TestPullsNeedTheRightAndAListedRegistry"},
	"S-03": {"TestPullsNeedTheRightAndAListedRegistry"},
	"S-04": {"TestRemoteImagesAreRefusedAndNeverFetched"},
	"S-05": {"TestBeyondLoopbackEveryRouteNeedsAKey"},
	"S-06": {"TestAForeignOriginIsRefusedOnEveryRoute", "TestLocalAppsAndListedPagesMayCallAndPreflight"},
	"S-07": {"TestAForeignHostNameIsRefusedOnEveryRoute"},
	"S-08": {"TestHostNamesAndClientAddressesAreTwoSettings"},
	"S-09": {"TestARuntimesKeyIsNotSentToTheHostOfARedirect"},
	"S-11": {"TestNobodyRegistersAsANodeThroughTheDoor"},

	// Routing and a desktop router's reports, as far as they concern the door.
	"R-04": {"TestAClientThatLeavesFreesEverything", "TestAClientThatLeavesWhileWaitingIsForgotten", "TestNothingLeaksInAStorm"},
	"R-05": {"TestOnlyAValidatedAnswerCountsAsCompleted"},
	"R-20": {"TestAStreamThatBreaksEndsInOneErrorAndNoFalseEnd"},
	"R-21": {"TestABoundExchangeIsNotMovedAndTheRecordSaysWhy"},
	"P-24": {"TestSilenceEndsInATimeoutAndSlownessDoesNot"},
	"P-25": {"TestPathsOfAllDialectsAndTheirUsualMistakes"},
	"P-26": {"TestBeyondLoopbackEveryRouteNeedsAKey", "TestLocalAppsAndListedPagesMayCallAndPreflight"},
	"P-28": {"TestAForeignOriginIsRefusedOnEveryRoute"},
	"P-29": {"TestLookingAfterARuntimeKeepsItsConnections"},
	"P-31": {"TestTheWholeMetadataSurfaceOfOllamaIsThere"},
	"P-32": {"TestBeyondLoopbackEveryRouteNeedsAKey"},
}

// cannotHappen are those that have nothing to be tested, with the reason.
var cannotHappen = map[string]string{
	"S-10": "no URL scheme is registered: links open nothing of ours",
	"P-27": "no runtime is started by us, so none is bound anywhere by us",
	"P-30": "priority is a property of the request and its key; there is no separate state that a failed write could leave behind",
}

func TestEveryReportedFaultHasItsTest(t *testing.T) {
	written := testsHere(t)
	var want []string
	for prefix, upTo := range map[string][2]int{"W": {1, 29}, "S": {1, 11}, "P": {24, 32}} {
		for n := upTo[0]; n <= upTo[1]; n++ {
			want = append(want, fmt.Sprintf("%s-%02d", prefix, n))
		}
	}
	want = append(want, "R-04", "R-05", "R-20", "R-21")
	for _, id := range want {
		if len(shown[id]) == 0 && cannotHappen[id] == "" {
			t.Errorf("%s has neither test nor reason", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(shown)) {
		for _, name := range shown[id] {
			if !written[name] {
				t.Errorf("%s: the test %s is gone", id, name)
			}
		}
	}
	if len(cannotHappen)*10 > len(want) {
		t.Errorf("%d of %d are only sentences", len(cannotHappen), len(want))
	}
}

// testsHere are the names of this package's test functions.
func testsHere(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("e2e_*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	names := map[string]bool{}
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				names[fn.Name.Name] = true
			}
		}
	}
	return names
}

// P-29 (a desktop router's #37): every health probe opened a connection of its
// own, since the last one's body was left unread.
func TestLookingAfterARuntimeKeepsItsConnections(t *testing.T) {
	r := newRig(t, spec{config: quick, fakes: map[string]runtimetest.FakeConfig{
		"ollama": {Models: []runtimetest.FakeModel{{Name: "chat:1b"}, {Name: "plain"}}},
	}})
	if err := r.agent.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := r.fakes["ollama"]
	before, asked := f.Connections(), len(f.Requests())
	for range 20 {
		if err := r.agent.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		chatWire.say(t, r, "chat:1b", "go", true)
	}
	if made, n := f.Connections()-before, len(f.Requests())-asked; made > 3 || n < 40 {
		t.Errorf("%d connections for %d requests", made, n)
	}
}

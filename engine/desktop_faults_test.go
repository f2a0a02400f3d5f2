package engine_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// desktopFaults says which tests show that a fault that users reported of
// similar desktop software is not ours: each as its package and its name. A
// test names its row in its comment or its text.
var desktopFaults = map[string][]string{
	"T-01": {"platform/desktop TestADesktopsOwnSwitchIsSeen", "engine TestTheSettingIsFollowedWhenItIsSetAndNeverAgain", "engine TestStartAtLoginOverALife", "app/tray TestStartAtLoginShowsWhatTheSystemSays", "platform/desktop TestWhatTaskManagerSwitchedOffStaysOff"},
	"T-02": {"app/tray TestTheMenuHasTheSameItemsWhateverHappens"},
	"T-03": {"platform/desktop TestOnlyPathsThatLastAreStartedAtLogin", "platform/desktop TestOptionsAreCarriedIntoTheEntryAndThoseOfOthersAreSeen", "platform/desktop TestTaskManagersSwitchIsRead", "engine TestStartAtLoginOverALife"},
	"T-04": {"cmd/bellwether TestAnIconWaitsForADesktopThatShowsIt", "app TestAMissingTrayHostIsToldOnce", "app TestEveryDesktopHasItsHelp"},
	"T-05": {"cmd/bellwether TestAnIconWaitsForADesktopThatShowsIt"},
	"T-06": {"build TestMacAppHasItsPlaces", "platform/desktop TestT06StayingAwakeForbidsNapsAndLetsTheMachineSleep", "app TestT06TheAppStaysAwakeFromItsStartToItsEnd"},
	"T-07": {"cmd/bellwether TestTheWindowDialsLoopbackWhereTheServerListensEverywhere", "engine TestTheWindowsLinkIsOfThisMachineWhateverListens"},
	"T-08": {"cmd/bellwether TestTheIconSaysNameAndState", "app/window TestWithoutAWindowTheBrowserOpensAndTheReasonIsTold"},
	"T-09": {"cmd/bellwether TestARunningServeIsAdoptedAndNeverEnded", "app TestAnotherProgramsEngineIsAdopted"},
	"T-10": {"engine/agent TestADialogAtTheFirstReadingHoldsNoHeartbeatUp"},
	"T-12": {"platform/desktop TestProgramsOutsidePATHAreFound"},
	"T-13": {"cmd/bellwether TestConfigShowsValueSourceDefaultAndUnit"},
	"P-33": {"platform/desktop TestSwitchedOnItStartsAtLoginAndSwitchedOffItDoesNot", "platform/desktop TestTheRunKeyStartsItAtLogin", "engine TestStartAtLoginOverALife"},
	"P-34": {"cmd/bellwether TestWithoutASessionBusItServesWithoutAnIcon", "build TestPackagedUnitsAreRight"},
	"P-35": {"app TestFramesThatAreLostOrUnknown"},
	"P-36": {"cmd/bellwether TestASecondStartShowsTheWindowOfTheFirst", "app TestAnotherProgramsEngineIsAdopted"},
	"P-37": {"engine/pulse TestARoundThatHangsIsGivenUpAndTheNextBegun", "engine/pulse TestALoopThatHangsIsToldAndItsReturnToo", "engine/agent TestSensesThatHangAreToldAndBegunAnew", "engine/agent TestAnObservationThatHangsIsToldAndBegunAnew",
		"engine TestALoopThatHangsIsAFinding", "engine TestTheSupervisorIsNotReassuredWhileALoopHangs", "cmd/bellwether TestAServiceTellsItsSupervisorThatAllIsWell", "engine TestChecksThatHangAreToldAndTheirReturnCures", "app TestAnIconThatTakesNoNewsIsTold", "app TestASilentEngineIsShownWithTheAgeOfItsFigures"},
	"P-38": {"app TestTheTrayShowsWhatTheFeedTells"},
	"P-39": {"engine/agent TestWorkThatIsNotOursIsTold", "cmd/bellwether TestTakenPortAtFirstStartMovesOnceAndIsRemembered"},
	"P-41": {"cmd/bellwether TestTestsHaveFoldersOfTheirOwn"},
	"P-42": {"cmd/bellwether TestWhatTheAppSaysIsInAFile", "cmd/bellwether TestDoctorWritesABundle", "engine TestALogFileTurnsOverBySize", "engine TestABundleHoldsNoSecretsPromptsOrPlaces"},
}

func TestEveryReportedFaultOfADesktopHasItsTest(t *testing.T) {
	var want []string
	for n := 1; n <= 13; n++ {
		if n != 11 { // meetings are no feature yet
			want = append(want, fmt.Sprintf("T-%02d", n))
		}
	}
	for _, n := range []int{33, 34, 35, 36, 37, 38, 39, 41, 42} {
		want = append(want, fmt.Sprintf("P-%02d", n))
	}
	texts := map[string]map[string]string{}
	for _, id := range want {
		if len(desktopFaults[id]) == 0 {
			t.Errorf("%s has no test", id)
		}
	}
	for id, tests := range desktopFaults {
		if !slices.Contains(want, id) {
			t.Errorf("%s is no row that was asked for", id)
		}
		for _, test := range tests {
			pkg, name, _ := strings.Cut(test, " ")
			if texts[pkg] == nil {
				texts[pkg] = testTexts(t, pkg)
			}
			switch text, there := texts[pkg][name]; {
			case !there:
				t.Errorf("%s: the test %s of %s is gone", id, name, pkg)
			case !strings.Contains(text, id) && !strings.Contains(text, strings.Replace(id, "-", "", 1)):
				t.Errorf("%s: %s of %s does not name it", id, name, pkg)
			}
		}
	}
}

// testTexts are a package's test functions with their comments, by name, those
// of other systems among them.
func testTexts(t *testing.T, pkg string) map[string]string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join("..", filepath.FromSlash(pkg), "*_test.go"))
	out := map[string]string{}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				from := fn.Pos()
				if fn.Doc != nil {
					from = fn.Doc.Pos()
				}
				out[fn.Name.Name] = string(text[set.Position(from).Offset:set.Position(fn.End()).Offset])
			}
		}
	}
	return out
}

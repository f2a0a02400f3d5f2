package desktop

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAFolderThatCannotBeUsedIsToldWithWhatHelps(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	under, err := FoldersUnder(filepath.Join(file, "data"))
	if err != nil {
		t.Fatal(err)
	}
	if err := under.Create(); err == nil || !strings.Contains(err.Error(), under.Data+" cannot be used") || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("below a file: %v", err)
	}
	denied := fmt.Errorf("read the node's key: %w", &fs.PathError{Op: "open", Path: "node.key", Err: fs.ErrPermission})
	if err := InFolder("/data", denied); !errors.Is(err, denied) ||
		err.Error() != "the data folder /data cannot be used: this user may not write there (permission denied); make the folder this user's own, or give Bellwether another folder with --data-dir" {
		t.Errorf("no right: %v", err)
	}
	other := errors.New("damaged")
	if err := InFolder("/data", other); err != other {
		t.Errorf("an error of another kind became %v", err)
	}
	if err := InFolder("/data", nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}

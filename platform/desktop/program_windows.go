package desktop

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

func programPlaces(name, home string) []string {
	local := absoluteOr(os.Getenv("LocalAppData"), filepath.Join(home, "AppData", "Local"))
	return []string{
		filepath.Join(local, "Programs", strings.ToUpper(name[:1])+name[1:], name+".exe"),
		filepath.Join(local, "Microsoft", "WinGet", "Links", name+".exe"),
		filepath.Join(os.Getenv("ProgramFiles"), name, name+".exe"),
	}
}

func startCommand(name, path string) string {
	app := filepath.Join(filepath.Dir(path), "ollama app.exe")
	if name == "ollama" {
		if _, err := os.Stat(app); err == nil {
			return `start "" ` + quote(app)
		}
		return quote(path) + " serve"
	}
	return quote(path)
}

func endCommand(pid int) string { return "taskkill /F /PID " + strconv.Itoa(pid) }

func isRunning(_ context.Context, name string) (bool, error) {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return false, ErrNotAvailable
	}
	defer func() { _ = windows.CloseHandle(snapshot) }()
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(snapshot, &entry); err == nil; err = windows.Process32Next(snapshot, &entry) {
		if strings.EqualFold(windows.UTF16ToString(entry.ExeFile[:]), name+".exe") {
			return true, nil
		}
	}
	return false, nil
}

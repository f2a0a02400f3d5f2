package tray

import "golang.org/x/sys/windows/registry"

// lightBar reports that the task bar is a light one. Where the system does not
// say it is dark, as the bar of Windows is by default.
func lightBar() bool {
	k, err := registry.OpenKey(registry.CURRENT_USER, `Software\Microsoft\Windows\CurrentVersion\Themes\Personalize`, registry.QUERY_VALUE)
	if err != nil {
		return false
	}
	defer k.Close()
	light, _, err := k.GetIntegerValue("SystemUsesLightTheme")
	return err == nil && light == 1
}

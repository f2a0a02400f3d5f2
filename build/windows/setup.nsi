; The setup of Bellwether, for one user and without an administrator.
;
;   setup.exe /S                 install, asking nothing
;   setup.exe /S /D=C:\Path      elsewhere; must come last, without quotes
;   uninstall.exe /S             remove, leaving settings and history
;   uninstall.exe /S /PURGE      remove those as well
;
; Defined by whoever calls makensis: VERSION, NUMBERS (1.2.3.0), FILES (a folder
; with all that is installed), ICON, OUT, ARCH (amd64 or arm64), and SIGN, a
; program that signs the file it is called with, where there is one.

Unicode true
SetCompressor /SOLID lzma
SetCompressorDictSize 64 ; MB: the two forms of one program are then packed as one
SetDateSave off
RequestExecutionLevel user
ManifestDPIAware true

!include MUI2.nsh
!include LogicLib.nsh
!include FileFunc.nsh
!include WinMessages.nsh
!include x64.nsh

!define RUN_KEY "Software\Microsoft\Windows\CurrentVersion\Run"
!define APPROVED_KEY "Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run"
!define UNINSTALL_KEY "Software\Microsoft\Windows\CurrentVersion\Uninstall\Bellwether"
!define APP_PATHS "Software\Microsoft\Windows\CurrentVersion\App Paths"
!define TRAY_CLASS "SystrayClass" ; the window class of the tray's library

Name "Bellwether"
BrandingText "Bellwether ${VERSION}"
OutFile "${OUT}"
InstallDir "$LOCALAPPDATA\Programs\Bellwether"
InstallDirRegKey HKCU "${UNINSTALL_KEY}" "InstallLocation"

VIProductVersion "${NUMBERS}"
VIAddVersionKey /LANG=0 "ProductName" "Bellwether"
VIAddVersionKey /LANG=0 "ProductVersion" "${VERSION}"
VIAddVersionKey /LANG=0 "FileVersion" "${VERSION}"
VIAddVersionKey /LANG=0 "FileDescription" "Bellwether setup"
VIAddVersionKey /LANG=0 "CompanyName" "The Bellwether authors"
VIAddVersionKey /LANG=0 "LegalCopyright" "MIT licensed"

!ifdef SIGN
!uninstfinalize '"${SIGN}" "%1"' = 0 ; the uninstaller is made with the setup
!endif

!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!define MUI_ABORTWARNING
!define MUI_FINISHPAGE_RUN "$INSTDIR\bellwether-app.exe"
!define MUI_FINISHPAGE_RUN_TEXT "Start Bellwether"

!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"

Var ran ; 1: the app ran and was ended

; StopApp asks the app that runs from $INSTDIR to end, as Windows does when its
; user logs out, and ends it if it has not within half a minute. Other programs
; with a window of that class are none of ours and are left alone.
!macro StopApp un
Function ${un}StopApp
  StrCpy $ran 0
  StrCpy $0 0 ; the window looked at last
  ${Do}
    System::Call 'user32::FindWindowExW(p 0, p r0, w "${TRAY_CLASS}", p 0) p .r0'
    ${If} $0 == 0
      ${ExitDo}
    ${EndIf}
    System::Call 'user32::GetWindowThreadProcessId(p r0, *i .r1)'
    ; SYNCHRONIZE, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_TERMINATE
    System::Call 'kernel32::OpenProcess(i 0x101001, i 0, i r1) p .r2'
    ${If} $2 == 0
      ${Continue}
    ${EndIf}
    System::Call 'kernel32::QueryFullProcessImageNameW(p r2, i 0, w .r3, *i ${NSIS_MAX_STRLEN}) i .r4'
    ${GetParent} "$3" $3
    ${If} $3 == $INSTDIR
      DetailPrint "Ending the running Bellwether"
      StrCpy $ran 1
      System::Call 'user32::PostMessageW(p r0, i ${WM_CLOSE}, p 0, p 0)'
      System::Call 'kernel32::WaitForSingleObject(p r2, i 30000) i .r4'
      ${If} $4 != 0
        System::Call 'kernel32::TerminateProcess(p r2, i 1)'
        System::Call 'kernel32::WaitForSingleObject(p r2, i 5000)'
      ${EndIf}
      StrCpy $0 0 ; the window is gone: from the first on
    ${EndIf}
    System::Call 'kernel32::CloseHandle(p r2)'
  ${Loop}
FunctionEnd
!macroend
!insertmacro StopApp ""
!insertmacro StopApp "un."

; Away takes a program out of the way. One that still runs, as bellwether serve
; in a terminal, cannot be replaced but renamed; it goes with the next setup.
!macro Away file
  Delete "$INSTDIR\${file}.old"
  ${If} ${FileExists} "$INSTDIR\${file}"
    ClearErrors
    Delete "$INSTDIR\${file}"
    ${If} ${Errors}
      Rename "$INSTDIR\${file}" "$INSTDIR\${file}.old"
    ${EndIf}
  ${EndIf}
!macroend

Function .onInit
!if "${ARCH}" == "arm64"
  ${IfNot} ${IsNativeARM64}
    MessageBox MB_ICONSTOP "This is the Bellwether for Windows on Arm. Your machine needs the setup with amd64 in its name." /SD IDOK
    SetErrorLevel 3
    Quit
  ${EndIf}
!endif
FunctionEnd

Section "Bellwether"
  Call StopApp
  !insertmacro Away "bellwether.exe"
  !insertmacro Away "bellwether-app.exe"
  !insertmacro Away "bellwether-window.exe"
  SetOutPath "$INSTDIR"
  ClearErrors
  File "${FILES}\*.*"
  ${If} ${Errors}
    MessageBox MB_ICONSTOP "Bellwether could not be written to $INSTDIR. Is the disk full, or a program from there still running?" /SD IDOK
    SetErrorLevel 2
    Abort
  ${EndIf}
  WriteUninstaller "$INSTDIR\uninstall.exe"

  CreateDirectory "$SMPROGRAMS\Bellwether"
  CreateShortcut "$SMPROGRAMS\Bellwether\Bellwether.lnk" "$INSTDIR\bellwether-app.exe"
  ; A terminal in which bellwether is found. The user's own PATH is left as it is.
  CreateShortcut "$SMPROGRAMS\Bellwether\Bellwether command line.lnk" "$SYSDIR\cmd.exe" '/k "set PATH=$INSTDIR;%PATH%&& bellwether --help"' "$INSTDIR\bellwether.exe"
  WriteRegStr HKCU "${APP_PATHS}\bellwether.exe" "" "$INSTDIR\bellwether.exe"

  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayName" "Bellwether"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayIcon" "$INSTDIR\bellwether-app.exe"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "Publisher" "The Bellwether authors"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${UNINSTALL_KEY}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "NoModify" 1
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "NoRepair" 1
  ${GetSize} "$INSTDIR" "/S=0K" $0 $1 $2
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "EstimatedSize" $0

  ${If} $ran == 1
    Exec '"$INSTDIR\bellwether-app.exe" app --hidden'
  ${EndIf}
SectionEnd

Section "Uninstall"
  Call un.StopApp
  ClearErrors
  Delete "$INSTDIR\bellwether.exe"
  Delete "$INSTDIR\bellwether-app.exe"
  Delete "$INSTDIR\bellwether-window.exe"
  ${If} ${Errors}
    MessageBox MB_ICONSTOP "Bellwether still runs, perhaps as bellwether serve in a terminal. End it, then uninstall again." /SD IDOK
    SetErrorLevel 2
    Abort
  ${EndIf}
  Delete "$INSTDIR\bellwether*.exe.old"
  Delete "$INSTDIR\LICENSE.txt"
  Delete "$INSTDIR\THIRD-PARTY-NOTICES.txt"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR" ; what else is in it stays

  Delete "$SMPROGRAMS\Bellwether\Bellwether.lnk"
  Delete "$SMPROGRAMS\Bellwether\Bellwether command line.lnk"
  RMDir "$SMPROGRAMS\Bellwether"

  ; The entry that starts it at login, unless it starts another Bellwether.
  ReadRegStr $0 HKCU "${RUN_KEY}" "Bellwether"
  StrCpy $1 $0 1
  ${If} $1 == '"'
    StrCpy $0 $0 "" 1
  ${EndIf}
  StrLen $1 "$INSTDIR\"
  StrCpy $0 $0 $1
  ${If} $0 == "$INSTDIR\"
    DeleteRegValue HKCU "${RUN_KEY}" "Bellwether"
    DeleteRegValue HKCU "${APPROVED_KEY}" "Bellwether"
  ${EndIf}
  DeleteRegKey HKCU "${APP_PATHS}\bellwether.exe"
  DeleteRegKey HKCU "${UNINSTALL_KEY}"

  ${GetParameters} $0
  ClearErrors
  ${GetOptions} $0 "/PURGE" $1
  ${IfNot} ${Errors}
    Goto purge
  ${EndIf}
  MessageBox MB_YESNO|MB_ICONQUESTION|MB_DEFBUTTON2 "Remove your settings, the history and what was learned as well? Models are not Bellwether's and stay in any case." /SD IDNO IDYES purge
  Goto kept
purge:
  RMDir /r "$LOCALAPPDATA\Bellwether"
  RMDir /r "$APPDATA\Bellwether"
kept:
SectionEnd

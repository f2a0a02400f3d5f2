package main

import (
	"archive/tar"
	"archive/zip"
	"compress/flate"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// writeTarGz packs a folder, itself included, with the names of files in
// order, no owners, and one time for all.
func writeTarGz(path, dir string, at time.Time) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = closed(f, err) }()
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	err = eachFile(dir, func(name, file string, info fs.FileInfo) error {
		h, err := tar.FileInfoHeader(info, "")
		if err != nil {
			return err
		}
		*h = tar.Header{Typeflag: h.Typeflag, Name: name, Mode: packedMode(info), Size: h.Size, ModTime: at, Format: tar.FormatUSTAR}
		if err := t.WriteHeader(h); err != nil || info.IsDir() {
			return err
		}
		return copyFrom(t, file)
	})
	if err != nil {
		return err
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

// writeZip packs a folder in the same way; who may execute what is kept.
func writeZip(path, dir string, at time.Time) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = closed(f, err) }()
	z := zip.NewWriter(f)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	err = eachFile(dir, func(name, file string, info fs.FileInfo) error {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at}
		h.SetMode(info.Mode()&fs.ModeType | fs.FileMode(packedMode(info)))
		w, err := z.CreateHeader(h)
		if err != nil || info.IsDir() {
			return err
		}
		return copyFrom(w, file)
	})
	if err != nil {
		return err
	}
	return z.Close()
}

// eachFile calls f for a folder and all in it, in order. name is the path in an
// archive, with a slash behind a folder's.
func eachFile(dir string, f func(name, file string, info fs.FileInfo) error) error {
	return filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(filepath.Dir(dir), file)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if d.IsDir() {
			name += "/"
		}
		return f(name, file, info)
	})
}

// packedMode is a file's mode whatever the umask of who packs it.
func packedMode(info fs.FileInfo) int64 {
	if info.IsDir() || info.Mode()&0o111 != 0 {
		return 0o755
	}
	return 0o644
}

func copyFrom(w io.Writer, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = io.Copy(w, f)
	return err
}

// copyFile copies a file into a tree, making the folders above it.
func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return putFile(to, text, fs.FileMode(packedMode(info)))
}

// putFile writes a file of this very mode into a tree, making the folders
// above it.
func putFile(to string, text []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(to, text, mode); err != nil {
		return err
	}
	return os.Chmod(to, mode) // whatever the umask
}

// fill puts values into a text in which they are written @NAME@.
func fill(text string, values map[string]string) string {
	for name, value := range values {
		text = strings.ReplaceAll(text, "@"+name+"@", value)
	}
	return text
}

// closed closes a written file, and tells the first thing that went wrong.
func closed(f *os.File, err error) error {
	if closeErr := f.Close(); err == nil {
		return closeErr
	}
	return err
}

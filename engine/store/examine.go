package store

import (
	"context"
	"database/sql"
	"os"
)

// Examine says whether this version can write the database at path, without
// changing it: an *UnavailableError when a newer one wrote it. What Open mends by
// itself is no error, nor is a file that cannot be read or is not there.
func Examine(ctx context.Context, path string) error {
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	db, err := openUnwritten(path)
	if err != nil {
		return nil
	}
	defer func() { _ = db.Close() }()
	var version int
	if err := db.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM migrations`).Scan(&version); err == nil && version > len(migrations) {
		return newer(version)
	}
	return nil
}

// openUnwritten opens a database for reading that nobody may be able to write.
func openUnwritten(path string) (*sql.DB, error) {
	if _, missing := os.Stat(path + "-wal"); missing != nil {
		return openFile(path, frozen) // SQLite would want to create the log otherwise
	}
	return openFile(path, reading)
}

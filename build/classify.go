package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"bellwether/build/taskmodel"
)

// weightsPath is where the trained weights become part of the program,
// leftOutPath where the bench finds how they did on rows they did not know.
var (
	weightsPath = filepath.Join("engine", "task", "weights.bin")
	leftOutPath = filepath.Join("build", "taskmodel", "leftout.txt")
)

// classifyTask trains the model that tells tasks apart:
//
//	go run ./build classify train DIR LEARN [MEASURE...]
//
// DIR holds the open sets (engine/task/weights.md lists them). LEARN has
// labelled rows, measured while left out and learned at the end; the rows of
// MEASURE are never learned. Nothing is downloaded.
func classifyTask(_ context.Context, args []string) error {
	if len(args) < 3 || args[0] != "train" {
		return errors.New("usage: classify train DIR LEARN [MEASURE...]")
	}
	b, leftOut, err := taskmodel.Build(args[1], args[2], args[3:], os.Stdout)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d bytes\n", weightsPath, len(b))
	if err := os.WriteFile(leftOutPath, taskmodel.EncodeLeftOut(leftOut), 0o644); err != nil {
		return err
	}
	return os.WriteFile(weightsPath, b, 0o644)
}

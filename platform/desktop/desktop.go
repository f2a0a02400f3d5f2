// Package desktop is what programs need of the system around them: folders,
// the single-instance lock, private files. It owns none of the product's
// state, only where and how it lies on disk.
package desktop

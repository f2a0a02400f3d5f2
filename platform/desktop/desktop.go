// Package desktop is what programs need of the desktop system: folders,
// the single-instance lock, private files. It knows nothing of the product's
// state but where it lies.
package desktop

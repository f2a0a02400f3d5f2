// Package queue holds requests until a node may serve them. One goroutine,
// Dispatcher.Run, owns every lane, hold, pin, circuit, grant and memory mirror;
// methods named on... run only there and take no lock. It never picks a node
// (engine/route does) nor sends a byte (engine/gateway does).
package queue

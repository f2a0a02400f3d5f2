// Command fakeruntime runs a stand-in inference server for tests, the demo
// and benchmarks.
package main

func main() {}

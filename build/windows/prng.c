// bcryptprimitives.dll, which Go programs load and Wine before 9 lacks: the one
// function they call of it. Built by `go run ./build soak --windows`.
#include <stddef.h>

unsigned char __stdcall SystemFunction036(void *buffer, unsigned long length); // RtlGenRandom, of advapi32

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *buffer, size_t length) {
    return SystemFunction036(buffer, (unsigned long)length);
}

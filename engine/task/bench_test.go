package task

import (
	"strings"
	"testing"

	"bellwether/engine/dialect"
)

func userSays(text string) *dialect.Request {
	return &dialect.Request{Messages: []dialect.Message{{Role: dialect.RoleUser, Parts: []dialect.Part{{Text: dialect.Quote(text)}}}}}
}

func benchmark(b *testing.B, r *dialect.Request) {
	b.ReportAllocs()
	for b.Loop() {
		Of(r)
	}
}

func BenchmarkShort(b *testing.B) {
	benchmark(b, userSays("Write a haiku about the sea, and do not mention water."))
}

func Benchmark8KB(b *testing.B) {
	benchmark(b, userSays("Summarize the following report.\n\n"+strings.Repeat("The committee met on Tuesday and agreed that the bridge should be repaired before winter. ", 90)))
}

func Benchmark8KBChinese(b *testing.B) {
	benchmark(b, userSays("请总结以下文章：\n"+strings.Repeat("委员会周二开会，同意在冬天之前修复这座桥。", 130)))
}

func Benchmark1MB(b *testing.B) {
	benchmark(b, userSays("Summarize this.\n"+strings.Repeat("The committee met on Tuesday and agreed on nothing. ", 20_000)))
}

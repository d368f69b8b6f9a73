import CLatchkeySystem
import Foundation
import Testing

@testable import LatchkeyMetrics

@Suite(.timeLimit(.minutes(15))) struct PerThread {
    @Test func `counts of several threads add up exactly`() {
        let counter = Counter()
        onThreads(8) { for _ in 0..<100_000 { counter.add() } }
        #expect(counter.value == 800_000)
    }

    @Test func `counts of a thread that has ended stay`() {
        let counter = Counter()
        for _ in 0..<100 { onThreads(1) { counter.add(2) } }
        #expect(counter.value == 200)
    }

    @Test func `histograms of several threads add up exactly`() {
        let histogram = Histogram(bounds: HistogramBounds([1, 2], scale: .one))
        onThreads(4) {
            for value: UInt64 in 0..<9000 { histogram.observe(value % 3 + 1, weight: 2) }
        }
        #expect(histogram.reading.buckets == [24000, 24000, 24000])
        #expect(histogram.reading.sum == 144_000)
    }

    @Test func `a cell is whole cache lines`() {
        let words = PerThreadCounters(wordCount: 9)
        words.add(1, at: 8)
        words.forEachCell { cell in
            let address = unsafe UInt(bitPattern: cell.words)
            #expect(address % 64 == 0)
        }
    }

    @Test func `series of one registry do not share words`() {
        let registry = MetricRegistry()
        let family = MetricFamily("n_total", .counter, help: "")
        let counters = (0..<1200).map { registry.counter(family, Labels([("i", "\($0)")])) }
        for (index, counter) in counters.enumerated() { counter.add(UInt64(index)) }
        #expect(counters.map(\.value) == Array(0..<1200))
    }

    @Test func `raising keeps the greatest value`() {
        let words = PerThreadCounters(wordCount: 1)
        for value: UInt64 in [3, 9, 4] { words.raise(to: value, at: 0) }
        #expect(words.sum(at: 0) == 9)
    }

    @Test func `threads add to a shared cell atomically`() {
        let words = PerThreadCounters(wordCount: 1)
        onThreads(4) {
            for _ in 0..<200_000 { words.sharedCell.add(1, at: 0) }
        }
        #expect(words.sum(at: 0) == 800_000)
    }

    /// In a process of its own, because it takes every thread index there is.
    @Test func `threads beyond the last index share a cell and lose nothing`() async {
        await #expect(processExitsWith: .success) {
            let indices = Int(LATCHKEY_SYSTEM_THREADS_MAX)
            let counter = Counter()
            let words = PerThreadCounters(wordCount: 1)
            let arrived = DispatchSemaphore(value: 0)
            let leave = DispatchSemaphore(value: 0)
            let holders = (1..<indices).map { _ in
                startThread {
                    counter.add()
                    arrived.signal()
                    leave.wait()
                }
            }
            for _ in holders { arrived.wait() }
            onThreads(4) {
                precondition(words.firstVisit() == nil)
                for value in 1...10_000 {
                    counter.add()
                    words.raise(to: UInt64(value), at: 0)
                }
            }
            precondition(counter.value == UInt64(indices - 1 + 40_000))
            precondition(words.sum(at: 0) == 10_000)
            for _ in holders { leave.signal() }
            for holder in holders { holder.wait() }
        }
    }
}

/// Runs `body` on this many threads at once and returns when all have ended.
func onThreads(_ count: Int, _ body: @escaping @Sendable () -> Void) {
    let ends = (0..<count).map { _ in startThread(body) }
    for end in ends { end.wait() }
}

/// Starts a thread with a small stack; what is returned is signalled when it is about to end.
func startThread(_ body: @escaping @Sendable () -> Void) -> DispatchSemaphore {
    let end = DispatchSemaphore(value: 0)
    let thread = Thread {
        body()
        end.signal()
    }
    thread.stackSize = 128 * 1024
    thread.start()
    return end
}

import Glibc
import LatchkeyMetrics
import LatchkeyStore
import LatchkeyTestSupport
import Testing

@testable import LatchkeyPersistence

/// A batch waits for half of the commits in flight.
///
/// Here it would wait for an hour, so a test that ends has shown that it did not wait.
@Suite("Batches", .timeLimit(.minutes(15)))
struct GatheringTests {
    private let folder: TemporaryFolder
    private let opened: Opened
    private var source = CommitSource(seed: 1, after: Opened.startRevision)

    init() throws {
        folder = try TemporaryFolder()
        var tuning = Tuning()
        tuning.gatherInterval = .seconds(3600)
        opened = try Opened(folder.data, .standard, tuning)
    }

    /// Appends commits that can be written only when the last of them is there.
    private mutating func append(_ count: Int) throws {
        for commit in try (0..<count).map({ _ in try source.next() }).reversed() {
            opened.persistence.append(commit, note: nil)
        }
    }

    private mutating func write(_ count: Int) throws {
        try append(count)
        opened.waitUntilReleased(source.model.revision)
    }

    @Test mutating func `a batch is written when half of the former number is there`() throws {
        try write(64)
        let before = opened.persistence.statistics.syncs.value
        try append(31)
        // Time in which they would be written by mistake.
        for _ in 0..<10_000 { sched_yield() }
        try write(1)
        #expect(opened.persistence.statistics.syncs.value == before + 1)
        try opened.expectEnd(source.model)
    }

    @Test mutating func `few clients are never kept waiting`() throws {
        for count in [1, 7, 1, 1, 6, 2, 1] { try write(count) }
        #expect(opened.persistence.finish() == .written)
    }

    @Test mutating func `the end does not wait for more`() throws {
        try write(64)
        try append(1)
        try opened.expectEnd(source.model)
    }
}

import LatchkeyStore
import LatchkeyTestSupport
import Testing

@testable import LatchkeyPersistence

@Suite("What is written and read back", .timeLimit(.minutes(15)))
struct RoundTripTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test
    func `a new folder is empty, and opens again`() throws {
        let first = try Opened(folder.data)
        #expect(first.persistence.isNew)
        #expect(first.persistence.lastRevision == Opened.startRevision)
        #expect(first.persistence.finish() == .written)
        let second = try Opened(folder.data)
        #expect(!second.persistence.isNew)
        #expect(second.model == Model(after: Opened.startRevision))
        #expect(second.persistence.finish() == .written)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `random commits are there after an orderly end and after a kill`(seed: UInt64) throws {
        var source = CommitSource(seed: seed, after: Opened.startRevision)
        for _ in 0..<4 {
            let opened = try Opened(folder.data)
            #expect(opened.model == source.model)
            try opened.commit(300, of: &source)
            #expect(try Opened.read(folder.copy()) == source.model)
            #expect(opened.persistence.finish() == .written)
        }
    }

    @Test
    func `commits that come in any order are written in that of their revisions`() throws {
        var source = CommitSource(seed: 1, after: Opened.startRevision)
        let commits = try (0..<500).map { _ in try source.next() }
        var random = SeededGenerator(7)
        let opened = try Opened(folder.data)
        for commit in commits.shuffled(using: &random) {
            opened.persistence.append(commit, note: nil)
        }
        opened.waitUntilReleased(source.model.revision)
        #expect(try Opened.read(folder.copy()) == source.model)
        #expect(opened.persistence.finish() == .written)
    }

    @Test
    func `a note is kept with its commit`() throws {
        var source = CommitSource(seed: 1, after: Opened.startRevision)
        let opened = try Opened(folder.data)
        opened.persistence.append(try source.next(), note: [1, 2, 3])
        opened.persistence.append(try source.next(), note: nil)
        opened.persistence.append(try source.next(), note: [])
        #expect(opened.persistence.finish() == .written)
        let again = try Opened(folder.data)
        #expect(again.notes == [1001: [1, 2, 3], 1003: []])
        #expect(again.persistence.finish() == .written)
    }
}

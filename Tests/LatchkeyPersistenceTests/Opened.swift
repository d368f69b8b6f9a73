import CLatchkeyFaults
import Foundation
import LatchkeyStore
import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyPersistence

/// An open database that writes, and what it has called.
final class Opened: Sendable {
    struct Calls: Sendable {
        var released: Revision = 0
        var withdrawals: [(revision: Revision, reason: Withdrawal)] = []
    }

    static let startRevision: Revision = 1000

    let persistence: Persistence
    private let path: String
    let calls = Guarded(Calls())
    /// What it had when it was opened.
    let model: Model
    let notes: [Revision: [UInt8]]

    init(
        _ path: String,
        _ settings: PersistenceSettings = .standard,
        _ tuning: Tuning = Tuning(),
        isGrouped: Bool = false,
        historyOldest: @escaping @Sendable () -> Revision = { .max }
    ) throws {
        self.path = path
        persistence = try Persistence(
            opening: path,
            settings,
            startRevision: Self.startRevision,
            log: { _, _, _ in },
            tuning: tuning
        )
        (model, notes) = try Self.read(persistence)
        try persistence.start(
            historyOldest: historyOldest,
            noteLifetime: .seconds(3600),
            isGrouped: isGrouped,
            released: { [calls] revision in
                calls.write { $0.released = max($0.released, revision) }
            },
            withdraw: { [calls] revision, reason, completion in
                completion()
                calls.write { $0.withdrawals.append((revision, reason)) }
            }
        )
    }

    /// Reads all that a database has.
    static func read(_ persistence: Persistence) throws -> (Model, [Revision: [UInt8]]) {
        var properties: [Property] = []
        var commits: [StoredCommit] = []
        var notes: [Revision: [UInt8]] = [:]
        try persistence.readStored { properties += $0 }
        try persistence.readChanges { commits += $0 }
        try persistence.readNotes { revision, _, note in notes[revision] = note }
        return (Model(properties, commits, after: persistence.storedRevision), notes)
    }

    /// The state of a folder that no process uses.
    static func read(_ path: String) throws -> Model {
        let persistence = try Persistence(opening: path, startRevision: Self.startRevision)
        defer { _ = persistence.finish() }
        return try read(persistence).0
    }

    /// Makes a commit, and waits until it is released.
    func commit(_ commit: Commit) {
        persistence.append(commit, note: nil)
        waitUntilReleased(commit.revision)
    }

    /// Makes so many commits, and waits until all are released.
    func commit(_ count: Int, of source: inout CommitSource) throws {
        for _ in 0..<count { persistence.append(try source.next(), note: nil) }
        waitUntilReleased(source.model.revision)
    }

    /// Makes a commit, and waits until it is released, which brings nil, or withdrawn.
    func withdrawal(of commit: Commit) -> (revision: Revision, reason: Withdrawal)? {
        let count = calls.read { $0.withdrawals.count }
        persistence.append(commit, note: nil)
        return calls.read(
            when: { $0.released >= commit.revision || $0.withdrawals.count > count },
            { $0.withdrawals.dropFirst(count).last }
        )
    }

    /// Ends the writer, which must leave this state.
    func expectEnd(_ model: Model) throws {
        #expect(persistence.finish())
        #expect(try Self.read(path) == model)
    }

    func waitUntilReleased(_ revision: Revision) {
        calls.read(when: { $0.released >= revision }, { _ in })
    }

    func waitForWithdrawals(_ count: Int) -> [(revision: Revision, reason: Withdrawal)] {
        calls.read(when: { $0.withdrawals.count >= count }, { $0.withdrawals })
    }
}

extension TemporaryFolder {
    /// The path of a data folder in it.
    var data: String { path + "data" }

    /// Copies a data folder as it is now, as a process leaves it that is killed.
    func copy(_ number: Int = 0) throws -> String {
        let copy = path + "copy\(number)"
        try? FileManager.default.removeItem(atPath: copy)
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
        for name in ["latchkey.db", "latchkey.db-wal", "latchkey.lock"] {
            let source = data + "/" + name
            if FileManager.default.fileExists(atPath: source) {
                try FileManager.default.copyItem(atPath: source, toPath: copy + "/" + name)
            }
        }
        return copy
    }
}

/// Runs the shell of SQLite and returns its output.
func shell(_ arguments: String...) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/sqlite3")
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: output, as: UTF8.self)
}

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
        /// The last revision that was released with the message that it is not written.
        var unwritten: Revision = 0
        /// How often the process was to end.
        var failureCount = 0
        var events: [String] = []
    }

    /// The fate of a commit.
    enum Fate: Equatable {
        case written
        /// It waits, and is tried again.
        case held(Unavailability)
        case unwritten
        /// The process is to end.
        case failed
    }

    static let startRevision: Revision = 1000

    let persistence: Persistence
    private let path: String
    let calls = Guarded(Calls())
    /// The content when it was opened.
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
            log: { [calls] _, event, _ in calls.write { $0.events.append(event) } },
            tuning: tuning
        )
        (model, notes) = try Self.read(persistence)
        try persistence.start(
            historyOldest: historyOldest,
            noteLifetime: .seconds(3600),
            isGrouped: isGrouped,
            released: { [calls] revision, isWritten in
                let place = isWritten ? \Calls.released : \.unwritten
                calls.write { $0[keyPath: place] = max($0[keyPath: place], revision) }
            },
            failed: { [calls] in calls.write { $0.failureCount += 1 } }
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

    /// Makes this many commits, and waits until all are released.
    func commit(_ count: Int, of source: inout CommitSource) throws {
        for _ in 0..<count { persistence.append(try source.next(), note: nil) }
        waitUntilReleased(source.model.revision)
    }

    /// Makes a commit, and waits until it is known what becomes of it.
    func fate(of commit: Commit) -> Fate {
        persistence.append(commit, note: nil)
        var fate: Fate?
        waitUntil {
            let calls = calls.read { $0 }
            if calls.released >= commit.revision {
                fate = .written
            } else if calls.unwritten >= commit.revision {
                fate = .unwritten
            } else if calls.failureCount > 0 {
                fate = .failed
            } else if case .failed(_, endsByItself: true) = persistence.status.health {
                fate = persistence.unavailability.map { .held($0) }
            }
            return fate != nil
        }
        return fate ?? .failed
    }

    /// Ends the writer, which must leave this state.
    func expectEnd(_ model: Model) throws {
        #expect(persistence.finish() == .written)
        #expect(try Self.read(path) == model)
    }

    func waitUntilReleased(_ revision: Revision) {
        waitUntil { calls.read { $0.released } >= revision }
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

import CLatchkeyFaults
import Glibc
import LatchkeyTestSupport
import Testing

@testable import LatchkeyPersistence

/// A file system with faults, of one test.
@safe
final class FaultyDisk: @unchecked Sendable {
    // SAFETY: the state has a lock of its own.
    let handle: OpaquePointer
    let name: String

    init(_ name: String = "faults-\(UInt64.random(in: .min ... .max))") {
        self.name = name
        unsafe handle = latchkey_faults_make(name)
    }

    deinit {
        unsafe latchkey_faults_free(handle)
    }

    func fail(
        _ calls: Int,
        first: Int = 0,
        count: Int = .max,
        _ code: Int32,
        _ error: Int32,
        percent: Int32 = 0
    ) {
        unsafe latchkey_faults_fail(handle, Int32(calls), first, count, code, error, percent)
    }

    func stop() { unsafe latchkey_faults_stop(handle) }
    func hold(_ holds: Bool) { unsafe latchkey_faults_hold(handle, holds) }
    func await() { unsafe latchkey_faults_await(handle) }

    /// Copies the folder while the writer does nothing, or waits for a sync.
    ///
    /// It is as a process leaves it that is killed.
    func copy(_ folder: TemporaryFolder, _ opened: Opened) throws -> String {
        hold(true)
        defer { hold(false) }
        waitUntil {
            unsafe latchkey_faults_waiting(handle) > 0
                || opened.persistence.status.compactionProgress == nil
        }
        return try folder.copy()
    }

    var tuning: Tuning {
        var tuning = Tuning()
        tuning.vfs = name
        tuning.tryInterval = .milliseconds(20)
        return tuning
    }
}

/// Waits for what only another thread's work can make true.
func waitUntil(_ condition: () -> Bool, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(throws: Never.self, sourceLocation: sourceLocation) {
        try eventually("the state of the writer", condition)
    }
}

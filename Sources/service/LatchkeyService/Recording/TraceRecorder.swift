internal import CLatchkeySystem
internal import Dispatch
internal import Glibc
package import LatchkeyFrame
internal import LatchkeyMachine
internal import LatchkeyStore
internal import LatchkeyStrategies
internal import LatchkeyTrace
internal import Synchronization

/// Records a sample of the live operations into a file.
///
/// **Design.** A serving thread draws by a hash of the time, so that threads share nothing for an
/// operation that is not recorded. It appends the 16 bytes of a recorded one to a buffer under a
/// lock. A queue writes the buffer when it is long enough, and every second, so that a killed
/// service loses at most one second. No serving thread waits for a disk: while the buffer has no
/// room, operations are dropped and counted.
///
/// Times are taken before the lock and raised to the last one in the buffer, so that they never run
/// backwards in the file.
///
/// The name's hash has a seed of the process, which is not recorded: a name cannot be found by
/// trying likely ones.
package final class TraceRecorder: Sendable {
    private struct Buffer {
        var bytes: [UInt8] = []
        var lastNanoseconds: UInt64 = 0
        /// The length of the file, with the bytes still in the buffer.
        var byteCount = TraceHeader.byteCount
        var lostCount = 0
        /// Whether the queue has been asked to write the buffer.
        var isAsked = false
        /// Whether a write failed: bytes after it would not be read.
        var isBroken = false
    }

    /// The result of the recording.
    package struct Summary: Sendable, Equatable {
        package var recordedCount: Int
        /// Operations that could not be written in time, or not at all.
        package var lostCount: Int
    }

    /// The queue is asked to write this much.
    private static let writtenByteCount = 64 << 10
    private static let bufferByteCountMax = 1 << 20
    private static let flushInterval = DispatchTimeInterval.seconds(1)

    private let buffer = Guarded(Buffer())
    /// Also ends when the limit is reached, or a write fails.
    private let isRecording = Atomic(true)
    private let sampleInterval: UInt64
    private let seed: UInt64
    private let byteCountMax: Int
    private let startNanoseconds: UInt64
    private let nanoseconds: @Sendable () -> UInt64
    private let descriptor: Int32
    private let path: String
    private let log: Log
    private let queue = DispatchQueue(label: "latchkey.recording")
    /// SAFETY: used by `init` and `finish` only, which are not called at the same time.
    private nonisolated(unsafe) let timer: any DispatchSourceTimer

    /// Makes the file and begins to record.
    package convenience init(
        _ settings: RecordingSettings,
        log: Log,
        seed: UInt64 = .random(in: .min ... .max),
        nanoseconds: @escaping @Sendable () -> UInt64 = { latchkey_system_nanoseconds() }
    ) throws(RecordingFailure) {
        let descriptor = try Self.newFile(settings)
        self.init(descriptor, settings, log, seed, nanoseconds)
    }

    private init(
        _ descriptor: Int32,
        _ settings: RecordingSettings,
        _ log: Log,
        _ seed: UInt64,
        _ nanoseconds: @escaping @Sendable () -> UInt64
    ) {
        self.descriptor = descriptor
        path = settings.path
        sampleInterval = UInt64(settings.sampleInterval)
        byteCountMax = settings.byteCountMax
        self.log = log
        self.seed = seed
        self.nanoseconds = nanoseconds
        startNanoseconds = nanoseconds()
        unsafe timer = DispatchSource.makeTimerSource(queue: queue)
        unsafe timer.schedule(
            deadline: .now() + Self.flushInterval,
            repeating: Self.flushInterval
        )
        unsafe timer.setEventHandler { [weak self] in self?.writeBuffer() }
        unsafe timer.resume()
    }

    /// Checks that the file could be made, without making it.
    static func checkNew(_ path: String) throws(RecordingFailure) {
        // A pipe is refused, too: a failed or ended recording is removed by its name.
        guard FilePath.descriptor(path) == nil, FilePath.kind(path) == nil else {
            throw RecordingFailure(path, EEXIST)
        }
        do {
            try WholeFile.check(path, .newSecret)
        } catch {
            throw RecordingFailure(path, error.code)
        }
    }

    /// A file with the header.
    private static func newFile(_ settings: RecordingSettings) throws(RecordingFailure) -> Int32 {
        try checkNew(settings.path)
        let header = TraceHeader(
            sampleInterval: UInt32(settings.sampleInterval),
            startedMilliseconds: StoreClock.system.now().milliseconds
        )
        do throws(FileFailure) {
            let file = try WholeFile(settings.path, .newSecret)
            try file.write(header.bytes)
            try file.keep()
            let descriptor = fcntl(file.descriptor, F_DUPFD_CLOEXEC, 3)
            guard descriptor >= 0 else { throw FileFailure(settings.path, errno) }
            return descriptor
        } catch {
            throw RecordingFailure(settings.path, error.code)
        }
    }

    deinit {
        close(descriptor)
    }

    // MARK: On serving threads

    func record(reading name: PropertyName) {
        if let time = draw() {
            append([Self.record(time, name, .get)])
        }
    }

    /// Records a change, or returns a closure that records it once its decision is known: a
    /// transaction with conditions makes one list of steps or the other.
    func record(_ change: Change) -> (@Sendable (Decision) -> Void)? {
        guard let time = draw() else { return nil }
        switch change {
        case .step(let step):
            append([Self.record(time, step)].compactMap(\.self))
            return nil
        case .transaction(let transaction):
            let then = Self.records(time, transaction.steps)
            guard !transaction.conditions.isEmpty || transaction.waits else {
                append(then)
                return nil
            }
            let otherwise = Self.records(time, transaction.otherwise)
            return { [self] decision in
                if case .failure(.notYet) = decision { return }
                // A refusal does not say which steps it refused.
                let succeeded = (try? decision.get())?.outcome?.succeeded ?? true
                append(succeeded ? then : otherwise)
            }
        }
    }

    private static func records(_ time: UInt64, _ steps: [Change.Step]) -> [TraceRecord] {
        var records = steps.compactMap { record(time, $0) }
        for index in records.indices.dropFirst() {
            records[index].isJoined = true
        }
        return records
    }

    func recordList() {
        if let time = draw() {
            append([TraceRecord(nanoseconds: time, key: 0, kind: .list)])
        }
    }

    /// The time of an operation since the start, if it is to be recorded.
    private func draw() -> UInt64? {
        guard isRecording.load(ordering: .relaxed) else { return nil }
        let now = nanoseconds()
        return Self.mix(now &+ seed) % sampleInterval == 0 ? now &- startNanoseconds : nil
    }

    /// The output function of SplitMix64 (Steele, Lea and Flood, *Fast splittable pseudorandom
    /// number generators*, 2014): every bit of the result depends on every bit of the number.
    private static func mix(_ number: UInt64) -> UInt64 {
        var mixed = number &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    private static func record(
        _ time: UInt64,
        _ name: PropertyName,
        _ kind: TraceRecord.Kind,
        byteCount: Int = 0
    ) -> TraceRecord {
        TraceRecord(
            nanoseconds: time,
            key: UInt32(truncatingIfNeeded: name.hash),
            kind: kind,
            sizeClass: byteCount > 0 ? TraceRecord.sizeClass(byteCount: byteCount) : 0
        )
    }

    /// Nil for a change that the store makes on its own.
    private static func record(_ time: UInt64, _ step: Change.Step) -> TraceRecord? {
        let kind: TraceRecord.Kind
        switch step.action {
        case .get, .count: kind = .get
        case .put, .touch: kind = .put
        case .delete, .pop, .deletePrefix: kind = .delete
        case .increment: kind = .increment
        case .merge: kind = .merge
        case .expire, .evict: return nil
        }
        let byteCount = unsafe step.action.content?.count ?? 0
        return record(time, step.name, kind, byteCount: byteCount)
    }

    private func append(_ records: [TraceRecord]) {
        let asks = buffer.write { buffer in
            let count = records.count * TraceRecord.byteCount
            guard buffer.byteCount + count <= byteCountMax else {
                if isRecording.exchange(false, ordering: .relaxed) {
                    let reason = "\(byteCountMax) bytes are recorded"
                    log.write(.warning, "recording has ended", ["reason": reason])
                }
                return false
            }
            guard buffer.bytes.count + count <= Self.bufferByteCountMax else {
                buffer.lostCount += records.count
                return false
            }
            for var record in records {
                record.nanoseconds = max(record.nanoseconds, buffer.lastNanoseconds)
                buffer.lastNanoseconds = record.nanoseconds
                record.append(to: &buffer.bytes)
            }
            buffer.byteCount += count
            guard buffer.bytes.count >= Self.writtenByteCount, !buffer.isAsked else { return false }
            buffer.isAsked = true
            return true
        }
        if asks {
            queue.async { self.writeBuffer() }
        }
    }

    // MARK: On the queue

    private func writeBuffer() {
        let bytes = buffer.write { buffer in
            buffer.isAsked = false
            defer { buffer.bytes = [] }
            guard buffer.isBroken else { return buffer.bytes }
            buffer.lostCount += buffer.bytes.count / TraceRecord.byteCount
            buffer.byteCount -= buffer.bytes.count
            return []
        }
        guard !bytes.isEmpty else { return }
        let written = Self.write(bytes, to: descriptor)
        guard written < bytes.count else { return }
        let reason = RecordingFailure.reason(errno)
        buffer.write { buffer in
            buffer.isBroken = true
            buffer.lostCount += (bytes.count - written) / TraceRecord.byteCount
            buffer.byteCount -= bytes.count - written
        }
        if isRecording.exchange(false, ordering: .relaxed) {
            log.write(.warning, "recording has ended", ["reason": reason])
        }
    }

    /// Returns how many bytes were written; fewer than there are is an error.
    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes[written...].withUnsafeBytes { rest in
                unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
            }
            guard count > 0 || errno == EINTR else { break }
            written += max(0, count)
        }
        return written
    }

    // MARK: The end

    /// Removes the file of a service that could not start, so that the next start can make it.
    package func discard() {
        unsafe timer.cancel()
        unsafe unlink(path)
    }

    /// Writes what is in the buffer, and ends the recording.
    ///
    /// Call it once, when nothing is served any more.
    package func finish() -> Summary {
        unsafe timer.cancel()
        queue.sync { writeBuffer() }
        isRecording.store(false, ordering: .relaxed)
        return buffer.read { buffer in
            Summary(
                recordedCount: (buffer.byteCount - TraceHeader.byteCount) / TraceRecord.byteCount,
                lostCount: buffer.lostCount
            )
        }
    }
}

/// The reason why a recording cannot begin.
package struct RecordingFailure: Error {
    package let message: String

    fileprivate init(_ path: String, _ code: Int32) {
        message = "the recording '\(path)' cannot be made: \(Self.reason(code))"
    }

    fileprivate static func reason(_ code: Int32) -> String {
        unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }
}

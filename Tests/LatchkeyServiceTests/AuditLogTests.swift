import Foundation
import LatchkeyHTTP
import LatchkeyJSON
import LatchkeyMetrics
import LatchkeyStore
import LatchkeyStrategies
import LatchkeyTestSupport
import Synchronization
import Testing

@testable import LatchkeyAccess
@testable import LatchkeyFrame
@testable import LatchkeyService

/// The file of the audit log, without a service.
@Suite(.timeLimit(.minutes(15)))
struct AuditLogTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private var path: String { folder.path + "/audit.log" }

    /// A log, and its output on standard error.
    private func open(
        _ path: String,
        byteCountMax: Int = AuditLog.waitingByteCountMax,
        clock: @escaping @Sendable () -> UInt64 = { 0 },
        registry: MetricRegistry = MetricRegistry()
    ) throws -> (log: AuditLog, said: Pipe) {
        let pipe = Pipe()
        let writer = LineWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        let log = Log(format: .text, level: .info, writer: writer)
        return (
            try AuditLog(
                path: path,
                registry,
                log,
                waitingByteCountMax: byteCountMax,
                clock: clock
            ), pipe
        )
    }

    private func lines(_ path: String) throws -> [[String: Any]] {
        try String(contentsOfFile: path, encoding: .utf8).utf8
            .split(separator: UInt8(ascii: "\n"))
            .map { line in
                let object = try JSONSerialization.jsonObject(with: Data(line))
                return try #require(object as? [String: Any])
            }
    }

    @Test func `every name is escaped as JSON needs it`() throws {
        var generator = SeededGenerator(21)
        let special: [Unicode.Scalar] = [
            "\"", "\\", "\n", "\r", "\u{0}", "\u{7F}", "\u{2028}", "/",
        ]
        let names = (0..<2000).map { _ in
            var name = ""
            for _ in 0..<Int.random(in: 1...20, using: &generator) {
                let any = Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &generator))
                let scalar = Bool.random(using: &generator) ? special.randomElement() : any
                name.unicodeScalars.append(scalar ?? "x")
            }
            return name
        }
        let (log, _) = try open(path)
        for name in names { log.append { $0.member("name", name) } }
        #expect(log.flush(withinMilliseconds: 1000 * Patience.seconds))
        let found = try lines(path).compactMap { $0["name"] as? String }
        #expect(found.map { Array($0.utf8) } == names.map { Array($0.utf8) })
    }

    @Test func `lines without room are counted, and a line says how many are missing`() throws {
        let fifo = folder.path + "/fifo"
        let code = unsafe mkfifo(fifo, 0o600)
        #expect(code == 0)
        let registry = MetricRegistry()
        let (log, said) = try open(fifo, byteCountMax: 4096, registry: registry)
        // More than the pipe and the queue hold together.
        var count = 0
        while log.droppedCount < 100 {
            log.append { $0.member("number", count) }
            count += 1
        }
        let dropped = log.droppedCount
        let reader = try #require(FileHandle(forReadingAtPath: fifo))
        var text = ""
        var missing: UInt64 = 0
        while missing < dropped {
            text += String(decoding: reader.availableData, as: UTF8.self)
            let whole = text[..<(text.lastIndex(of: "\n") ?? text.startIndex)]
            missing = whole.matches(of: /"dropped":(\d+)/).compactMap { UInt64($0.1) }.reduce(0, +)
        }
        #expect(missing == dropped)
        #expect(text.matches(of: /"number":/).count == count - Int(dropped))
        log.append { $0.member("after", true) }
        #expect(log.flush(withinMilliseconds: 1000 * Patience.seconds))
        let rest = String(decoding: reader.availableData, as: UTF8.self)
        #expect(rest.contains(#""after":true"#) && !rest.contains("dropped"))
        let event = String(decoding: said.fileHandleForReading.availableData, as: UTF8.self)
        #expect(event.contains("audit lines dropped"))
        let metrics = String(decoding: registry.text(.text), as: UTF8.self)
        #expect(metrics.contains("\nlatchkey_audit_dropped_total \(dropped)\n"))
        #expect(metrics.contains("\nlatchkey_audit_lines_total \(count + 1)\n"))
    }

    @Test func `a full disk loses what the queue cannot hold, and is said once`() throws {
        let link = folder.path + "/link"
        try FileManager.default.createSymbolicLink(
            atPath: link,
            withDestinationPath: "/dev/full"
        )
        let (log, said) = try open(link, byteCountMax: 4096)
        var count = 0
        while log.droppedCount < 10 {
            log.append { $0.member("number", count) }
            count += 1
        }
        #expect(!log.flush(withinMilliseconds: 3 * Int(AuditFile.retryMilliseconds)))
        // Another file gets the waiting lines, in their order.
        try FileManager.default.removeItem(atPath: link)
        log.reopen()
        #expect(log.flush(withinMilliseconds: 1000 * Patience.seconds))
        let found = try lines(link)
        let numbers = found.compactMap { $0["number"] as? Int }
        // The thread may have taken its first lines before or after the first drop.
        #expect(numbers.count == count - 10 && numbers == numbers.sorted())
        #expect(found.compactMap { $0["dropped"] as? Int }.reduce(0, +) == 10)
        // The log has a thread of its own, which writes a line later.
        var events = ""
        while !events.contains("audit log is written again") {
            let piece = said.fileHandleForReading.availableData
            events += String(decoding: piece, as: UTF8.self)
        }
        #expect(events.matches(of: /audit log not written/).count == 1)
        #expect(events.contains("No space left on device"))
    }

    @Test func `a line that a killed process began does not spoil the next one`() throws {
        try #"{"time":"2026"#.write(toFile: path, atomically: false, encoding: .utf8)
        let (log, _) = try open(path)
        log.append { $0.member("number", 1) }
        #expect(log.flush(withinMilliseconds: 1000 * Patience.seconds))
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let found = text.split(separator: "\n")
        #expect(found.count == 2 && found[0] == #"{"time":"2026"#)
        #expect(found[1].hasSuffix(#","number":1}"#))
    }

    @Test func `only some refusals in a second have a line`() throws {
        let second = Atomic<UInt64>(1)
        let clock: @Sendable () -> UInt64 = { second.load(ordering: .relaxed) * 1_000_000_000 }
        let (log, _) = try open(path, clock: clock)
        for _ in 0..<3 {
            let admitted = (0..<10_000).count { _ in log.admitsRefusal(of: nil) }
            // The refusals of a token are not kept out by others.
            let token = ClientKey(tokenNumber: 7)
            let ofToken = (0..<100).count { _ in log.admitsRefusal(of: token) }
            #expect(ofToken == AuditLog.refusalsPerSecondMax)
            #expect(admitted == AuditLog.refusalsPerSecondMax)
            second.add(1, ordering: .relaxed)
        }
        log.finish()
        let counts = try lines(path).compactMap { $0["refusalsLeftOut"] as? Int }
        #expect(counts.reduce(0, +) == 3 * (10_100 - 2 * AuditLog.refusalsPerSecondMax))
    }

    @Test func `a file that cannot be opened is named`() throws {
        let missing = folder.path + "/missing/audit.log"
        let failure = #expect(throws: AuditFailure.self) { try open(missing) }
        #expect(failure?.message.contains("'\(missing)' cannot be opened") == true)
        #expect(failure?.message.hasSuffix("No such file or directory") == true)
    }

    @Test func `a file that cannot be reopened leaves the one that is open`() throws {
        let (log, said) = try open(path)
        let moved = path + ".1"
        try FileManager.default.moveItem(atPath: path, toPath: moved)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        log.reopen()
        log.append { $0.member("number", 1) }
        #expect(log.flush(withinMilliseconds: 1000 * Patience.seconds))
        #expect(try lines(moved).count == 1)
        let events = String(decoding: said.fileHandleForReading.availableData, as: UTF8.self)
        #expect(events.contains("audit log not opened") && events.contains("Is a directory"))
    }

    @Test func `times are those of the calendar`() {
        func text(_ time: Int64) -> String { Timestamp(milliseconds: time).calendarText }
        #expect(text(0) == "1970-01-01T00:00:00.000Z")
        #expect(text(1_709_210_096_007) == "2024-02-29T12:34:56.007Z")
        #expect(text(4_102_444_799_999) == "2099-12-31T23:59:59.999Z")
    }

    @Test(arguments: [
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", true),
        ("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later", true),
        ("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", true),
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later", false),
        ("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.later", false),
        ("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false),
        ("00-00000000000000000000000000000000-b7ad6b7169203331-01", false),
        ("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false),
        ("00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false),
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g", false),
        ("00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01", false),
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331", false),
        ("", false),
    ])
    func `traceparent counts if it is valid`(text: String, isValid: Bool) {
        let found = TraceParent(Array(text.utf8))
        #expect((found != nil) == isValid)
        if let found {
            #expect(found.text == text)
            #expect(found.trace == "0af7651916cd43dd8448eb211c80319c")
            #expect(found.parent == "b7ad6b7169203331")
        }
    }
}

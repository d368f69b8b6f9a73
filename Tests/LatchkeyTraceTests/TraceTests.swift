import Testing

@testable import LatchkeyTrace

/// The format of traces, and errors in files.
struct TraceTests {
    private static let header = TraceHeader(sampleInterval: 16, startedMilliseconds: 1_700_000)
    private static let records = [
        TraceRecord(nanoseconds: 5, key: 0xDEAD_BEEF, kind: .get),
        TraceRecord(nanoseconds: 5, key: 1, kind: .put, sizeClass: 6),
        TraceRecord(nanoseconds: 1 << 40, key: 2, kind: .increment, isJoined: true),
    ]

    private static func bytes(_ records: [TraceRecord] = records) -> [UInt8] {
        var bytes = header.bytes
        for record in records {
            record.append(to: &bytes)
        }
        return bytes
    }

    private static func failure(_ bytes: [UInt8]) -> InvalidTrace? {
        do throws(InvalidTrace) {
            _ = try Trace(bytes)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a written trace is read`() throws {
        let trace = try Trace(Self.bytes())
        #expect(trace.header == Self.header)
        #expect(trace.records == Self.records)
        #expect(!trace.isCutOff)
        #expect(trace.seconds == Double((1 << 40) - 5) / 1e9)
    }

    @Test func `the bytes are those that the documentation names`() {
        let bytes = Self.bytes([Self.records[1]])
        #expect(bytes.count == 64 + 16)
        #expect(
            bytes.prefix(20) == [
                0x4C, 0x4B, 0x54, 0x52, 0x41, 0x43, 0x45, 0x0A,  // LKTRACE and a line feed
                1, 0, 64, 0, 16, 0, 0, 0,  // format, size of the header, size of a record
                16, 0, 0, 0,  // one in 16
            ]
        )
        #expect(bytes.suffix(16) == [5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 6, 0, 0])
    }

    @Test func `a file that is cut off keeps its whole records`() throws {
        let bytes = Self.bytes()
        for count in 0..<bytes.count {
            let cut = Array(bytes.prefix(count))
            switch count {
            case 0: #expect(Self.failure(cut) == .notATrace)
            case ..<64: #expect(Self.failure(cut) == .noHeader)
            case ..<80: #expect(Self.failure(cut) == .empty)
            default:
                let trace = try Trace(cut)
                #expect(trace.records.count == (count - 64) / 16)
                #expect(trace.isCutOff == ((count - 64) % 16 != 0))
            }
        }
    }

    @Test func `another file is no trace`() {
        #expect(Self.failure(Array("{\"cases\": []}".utf8)) == .notATrace)
        #expect(Self.failure(Array("LKTRACE!".utf8)) == .notATrace)
    }

    @Test func `a newer format is named, even if its header is shorter`() {
        var bytes = Self.bytes()
        bytes[8] = 2
        #expect(Self.failure(bytes) == .otherFormat(2))
        #expect(Self.failure(Array(bytes.prefix(20))) == .otherFormat(2))
        #expect(InvalidTrace.otherFormat(2).message.contains("format 2"))
    }

    @Test func `a header with other sizes is damaged`() {
        for place in [10, 12, 16] {
            var bytes = Self.bytes()
            bytes[place] = 0
            #expect(Self.failure(bytes) == .damagedHeader)
        }
    }

    @Test func `times that run backwards are found`() {
        var late = Self.records[2]
        late.nanoseconds -= 1
        #expect(Self.failure(Self.bytes(Self.records + [late])) == .runsBackwards(record: 4))
    }

    @Test func `an unknown kind is found`() {
        for kind in [0, 7, 255] as [UInt8] {
            var bytes = Self.bytes()
            bytes[64 + 16 + 12] = kind
            #expect(Self.failure(bytes) == .unknownKind(record: 2))
        }
    }

    @Test func `classes of sizes are powers of two`() {
        for (count, sizeClass) in [1: 1, 2: 2, 3: 2, 4: 3, 7: 3, 8: 4, 1 << 20: 21] {
            #expect(TraceRecord.sizeClass(byteCount: count) == sizeClass)
            let least = TraceRecord.byteCountMin(sizeClass: UInt8(sizeClass))
            #expect(least <= count && count < 2 * least)
        }
        #expect(TraceRecord.byteCountMin(sizeClass: 0) == 0)
    }
}

import LatchkeyHTTP
import LatchkeyTestSupport
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyService

/// Which thread goes on with the pieces of an import's body, and how many of them are held.
struct ImportInboxTests {
    private typealias Inbox = ImportInbox<String>

    private static let pieceByteCount = 8192
    private let clients = (1...2).compactMap { NetworkAddress("10.0.0.\($0)").map(ClientKey.init) }

    private static func places(_ count: Int, each share: Int? = nil) -> SharedPlaces {
        SharedPlaces(countMax: count, clientCountMax: share ?? count)
    }

    private func inbox(_ places: SharedPlaces, _ client: Int = 0) -> Inbox {
        Inbox(places, clients[client])
    }

    /// How many pieces a buffer holds.
    private static var pieceCountMax: Int { ImportBuffer.fullByteCount / pieceByteCount }

    /// The result of a piece, in one word, and the bytes that are worked on.
    private func receive(_ inbox: Inbox, _ byteCount: Int = pieceByteCount) -> String {
        let piece = [UInt8](repeating: 0x20, count: byteCount)
        return text(unsafe piece.withUnsafeBytes { unsafe inbox.receive($0) })
    }

    private func complete(_ inbox: Inbox) -> String {
        text(inbox.complete())
    }

    private func text(_ reception: Inbox.Reception) -> String {
        switch reception {
        case .readsOn: "reads on"
        case .waits: "waits"
        case .works(let buffer): unsafe "works on \(buffer.bytes.count)"
        case .fails(let failure): "fails: \(failure)"
        }
    }

    private func next(_ inbox: Inbox) -> String {
        switch inbox.next() {
        case .work(let buffer, let isWaiting):
            unsafe "works on \(buffer.bytes.count)\(isWaiting ? ", lets go on" : "")"
        case .end: "ends"
        case .idle: "idle"
        case .stop: "stops"
        }
    }

    @Test func `an import without work gets each piece at once`() {
        let inbox = self.inbox(Self.places(8))
        for _ in 0..<3 {
            #expect(receive(inbox) == "works on 8192")
            #expect(next(inbox) == "idle")
        }
        #expect(complete(inbox) == "works on 0")
        #expect(next(inbox) == "ends")
    }

    @Test func `pieces are collected while the import works, until the buffer is full`() {
        let places = Self.places(8)
        let inbox = self.inbox(places)
        #expect(receive(inbox) == "works on 8192")
        for _ in 0..<2 {
            for _ in 1..<Self.pieceCountMax {
                #expect(receive(inbox) == "reads on")
            }
            #expect(receive(inbox) == "waits")
            #expect(places.count == 1)
            #expect(next(inbox) == "works on \(ImportBuffer.fullByteCount), lets go on")
            #expect(places.count == 0)
        }
        #expect(receive(inbox) == "reads on")
        #expect(complete(inbox) == "reads on")
        #expect(next(inbox) == "works on 8192")
        #expect(next(inbox) == "ends")
    }

    @Test func `a buffer is no longer than its bound and one piece, however long pieces are`() {
        let inbox = self.inbox(Self.places(8))
        #expect(receive(inbox) == "works on 8192")
        var byteCount = 0
        var isWaiting = false
        for index in 0..<10_000 where !isWaiting {
            let count = index % 89 == 0 ? 8000 : 92
            isWaiting = receive(inbox, count) == "waits"
            byteCount += count
        }
        #expect(isWaiting)
        #expect(byteCount < ImportBuffer.fullByteCount + 8000)
        guard case .work(let buffer, true) = inbox.next() else {
            Issue.record("nothing is received")
            return
        }
        #expect(unsafe buffer.bytes.count == byteCount)
        #expect(buffer.capacity < ImportBuffer.fullByteCount + 8000)
    }

    @Test func `bytes between the lines of a batch count, too`() {
        let limits = ImportLimits(batchLineCount: 1000, lineByteCountMax: 1 << 20, depthMax: 8)
        let batch = ImportBatch()
        let byteCount = 256 << 10
        var lineCount = 0
        while !batch.isFull(limits), lineCount < limits.batchLineCount {
            let buffer = ImportBuffer(capacity: byteCount)
            unsafe [UInt8](repeating: 0x31, count: 10).withUnsafeBytes {
                unsafe buffer.append($0)
            }
            lineCount += 1
            _ = unsafe batch.endLine(buffer.bytes, in: buffer, lineCount)
        }
        #expect(lineCount == ImportBatch.heldByteCountMax / byteCount)
    }

    @Test func `a batch is no more work than one change may be`() {
        var limits = ImportLimits(batchLineCount: 1000, lineByteCountMax: 1 << 20, depthMax: 8)
        #expect(limits.unitsMax == 16_000)
        limits.unitsMax = 50
        for (byteCount, expected) in [(10, 50), (1024, 25), (100 << 10, 1)] {
            let batch = ImportBatch()
            let buffer = ImportBuffer(capacity: byteCount)
            unsafe [UInt8](repeating: 0x31, count: byteCount).withUnsafeBytes {
                unsafe buffer.append($0)
            }
            var lineCount = 0
            while !batch.isFull(limits) {
                lineCount += 1
                _ = unsafe batch.endLine(buffer.bytes, in: buffer, lineCount)
            }
            #expect(lineCount == expected)
        }
    }

    /// Otherwise a replica refuses lines that a client has sent one by one (issue 49).
    @Test func `a batch has no more bytes than the log of a cluster takes`() {
        var limits = ImportLimits(batchLineCount: 1000, lineByteCountMax: 1 << 20, depthMax: 8)
        limits.byteCountMax = 1000
        let batch = ImportBatch()
        #expect(batch.fits(2000, limits), "a line by itself")
        let buffer = ImportBuffer(capacity: 300)
        unsafe [UInt8](repeating: 0x31, count: 300).withUnsafeBytes {
            unsafe buffer.append($0)
        }
        var lineCount = 0
        while batch.fits(300, limits) {
            lineCount += 1
            _ = unsafe batch.endLine(buffer.bytes, in: buffer, lineCount)
        }
        #expect(lineCount == 3)
    }

    @Test func `all imports together hold no more than the bound`() {
        let places = Self.places(2)
        let inboxes = (0..<3).map { _ in inbox(places) }
        for inbox in inboxes { #expect(receive(inbox) == "works on 8192") }
        #expect(receive(inboxes[0]) == "reads on")
        #expect(receive(inboxes[1]) == "reads on")
        #expect(places.count == 2)
        #expect(receive(inboxes[2]) == "waits", "one piece, as if there were no buffer")
        #expect(next(inboxes[2]) == "works on 8192, lets go on")
        inboxes[0].lose()
        #expect(places.count == 1)
        #expect(receive(inboxes[2]) == "reads on")
        #expect(places.count == 2)
    }

    @Test func `a client has its share of the long buffers, and others have the rest`() {
        let places = Self.places(4, each: 1)
        let inboxes = [inbox(places), inbox(places), inbox(places, 1)]
        for inbox in inboxes { #expect(receive(inbox) == "works on 8192") }
        #expect(receive(inboxes[0]) == "reads on")
        #expect(receive(inboxes[1]) == "waits")
        #expect(receive(inboxes[2]) == "reads on")
        #expect(places.count == 2)
    }

    @Test func `the request is used only while it cannot be lost`() {
        let reads = inbox(Self.places(8))
        #expect(receive(reads) == "works on 8192")
        #expect(reads.fail("bad") == .leaves)
        #expect(receive(reads) == "fails: bad")

        let ends = inbox(Self.places(8))
        #expect(receive(ends) == "works on 8192")
        #expect(ends.fail("bad") == .leaves)
        #expect(complete(ends) == "fails: bad")

        let ended = inbox(Self.places(8))
        #expect(receive(ended) == "works on 8192")
        #expect(complete(ended) == "reads on")
        #expect(ended.fail("bad") == .answers)

        let waits = inbox(Self.places(0))
        #expect(receive(waits) == "works on 8192")
        #expect(receive(waits) == "waits")
        #expect(waits.fail("bad") == .answers)

        let lost = inbox(Self.places(8))
        #expect(receive(lost) == "works on 8192")
        #expect(receive(lost) == "reads on")
        lost.lose()
        #expect(lost.isLost && next(lost) == "stops")
        #expect(lost.fail("bad") == .leaves)
    }
}

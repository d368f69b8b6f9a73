import LatchkeyGuards
import LatchkeyStrategies
import Testing

@testable import LatchkeyStore

/// Pages that list names with a delimiter as folders.
@Suite(.timeLimit(.minutes(15)))
struct PageFolderTests {
    private func text(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: Array(bytes), as: UTF8.self)
    }

    /// All pages of a folder: its entries in the order of the pages.
    private func walk(
        _ store: BlockingStore,
        _ prefix: String,
        limit: Int
    ) -> (properties: [String], folders: [String]) {
        var (properties, folders): ([String], [String]) = ([], [])
        var after: [UInt8]?
        repeat {
            let request = PageRequest(
                prefix: OwnedBytes(Array(prefix.utf8)),
                after: after.map { OwnedBytes($0) },
                limit: limit,
                delimiter: UInt8(ascii: "/")
            )
            let page = store.wait {
                store.base.list(request, .here(), completion: $0)
            }
            let count = page.properties.count + page.folders.count
            #expect(count == limit || count < limit && !page.hasMore)
            properties += page.properties.map { unsafe text($0.nameBytes) }
            folders += page.folders.map(text)
            after = page.next
        } while after != nil
        return (properties, folders)
    }

    @Test(arguments: [1, 2, 3, 1000])
    func `each name is in one folder, once, whatever the length of a page`(limit: Int) {
        let store = BlockingStore(stripeCount: 4)
        let long = String(repeating: "l", count: 255) + "/"
        for name in [
            "a", "a!", "a/", "a/1", "a/b/2", "a/\u{10FFFF}", "a0", "é/x", long, "/", "//x",
        ] {
            store.increment(name)
        }
        for number in 0..<100 { store.increment("many/\(number)") }
        let root = walk(store, "", limit: limit)
        #expect(root.properties == ["a", "a!", "a0"])
        #expect(root.folders == ["/", "a/", long, "many/", "é/"])
        let inside = walk(store, "a/", limit: limit)
        #expect(inside.properties == ["a/", "a/1", "a/\u{10FFFF}"] && inside.folders == ["a/b/"])
        let odd = walk(store, "/", limit: limit)
        #expect(odd.properties == ["/"] && odd.folders == ["//"])
        #expect(walk(store, "many/", limit: limit).properties.count == 100)
        // A prefix need not end with the delimiter.
        let begun = walk(store, "man", limit: limit)
        #expect(begun.properties.isEmpty && begun.folders == ["many/"])
    }

    /// They were passed without a count, and a page of them was read as a whole, issue 46.
    @Test func `names whose time is over count for a piece, and are no next page`() {
        let store = BlockingStore(stripeCount: 4)
        for number in 0..<500 {
            let put = Change.Step.put("a/\(number)", "1", ttl: 5)
            _ = store.execute(Change(put), at: Timestamp(milliseconds: -9))
            _ = store.execute(
                Change(Change.Step.put("z/\(number)", "1", ttl: 5)),
                at: Timestamp(milliseconds: -9)
            )
        }
        for name in ["m1", "m2", "m3"] { store.increment(name) }
        let snapshot = store.snapshot()
        func page(after: String?) -> (Page, pieceCount: Int) {
            let request = PageRequest(
                prefix: OwnedBytes([]),
                after: after.map { OwnedBytes(Array($0.utf8)) },
                limit: 2,
                delimiter: UInt8(ascii: "/")
            )
            var reading = PageReading(request, snapshot)
            var pieceCount = 1
            while !reading.read(unitsMax: 100) { pieceCount += 1 }
            return (reading.page, pieceCount)
        }
        let (first, firstCount) = page(after: nil)
        #expect(first.properties.count == 2 && first.folders.isEmpty && first.hasMore)
        #expect(firstCount == 6)
        let (last, lastCount) = page(after: "m2")
        #expect(last.properties.count == 1 && last.folders.isEmpty && !last.hasMore)
        #expect(lastCount == 6)
        for number in 500..<3000 {
            let put = Change.Step.put("a/\(number)", "1", ttl: 5)
            _ = store.execute(Change(put), at: Timestamp(milliseconds: -9))
        }
        var unread = store.list(limit: 2).unread
        #expect(unread?.read(unitsMax: 1003) == true)
        #expect(unread?.page.properties.count == 2)
        #expect(store.list(prefix: "m", limit: 2).unread == nil)
    }

    /// A page of 1,000 folders held a thread that serves for 53 ms, issue 46.
    @Test func `a page is the same in pieces, and a count`() {
        let store = BlockingStore(stripeCount: 16)
        for number in 0..<3000 { store.increment("f\(number % 700)/\(number)") }
        for number in 0..<50 { store.increment("f\(number)") }
        let snapshot = store.snapshot()
        let prefix = OwnedBytes(Array("f".utf8))
        let request = PageRequest(
            prefix: prefix,
            after: nil,
            limit: 600,
            delimiter: UInt8(ascii: "/")
        )
        var all = PageReading(request, snapshot)
        let isRead = all.read(unitsMax: .max)
        #expect(isRead)
        let whole = all.page
        var reading = PageReading(request, snapshot)
        var pieceCount = 1
        while !reading.read(unitsMax: 100) { pieceCount += 1 }
        #expect(reading.page.folders == whole.folders && reading.page.next == whole.next)
        #expect(reading.page.properties.map(\.revision) == whole.properties.map(\.revision))
        #expect(whole.properties.count + whole.folders.count == 600)
        #expect((10...40).contains(pieceCount), "\(pieceCount)")
        var counting = snapshot.counting(prefix: prefix)
        pieceCount = 1
        while !counting.read(unitsMax: 1000) { pieceCount += 1 }
        #expect((counting.count, pieceCount) == (3050, 4))
    }
}

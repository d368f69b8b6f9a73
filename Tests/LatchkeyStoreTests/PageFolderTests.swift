import LatchkeyStrategies
import Testing

@testable import LatchkeyStore

/// Pages that list names behind a delimiter as folders.
@Suite(.timeLimit(.minutes(15)))
struct PageFolderTests {
    private func text(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: Array(bytes), as: UTF8.self)
    }

    /// All pages of a folder: its entries in the order of the pages.
    private func walk(
        _ store: BlockingStore<PropertyStore<LockStrategy>>,
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
                store.base.list(request, observer: NoObserver(), completion: $0)
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
        let store = BlockingStore<PropertyStore<LockStrategy>>(stripeCount: 4)
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
}

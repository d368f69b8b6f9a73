import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

struct NameOrderTests {
    /// Insertions and removals make hints wrong, which must cost a search and nothing else.
    @Test(arguments: 1...10)
    func `a replacement finds its place, whatever its hint`(seed: Int) {
        var random = SeededGenerator(UInt64(seed))
        var order = NameOrder()
        var model: [Int: (property: Property, hint: NameOrder.Hint)] = [:]
        for step in 0..<6000 {
            let key = Int.random(in: 0..<1500, using: &random)
            let name = Array("name\(key)".utf8)
            unsafe name.withUnsafeBytes { bytes in
                guard let name = unsafe try? PropertyName(borrowing: bytes) else {
                    Issue.record("a name")
                    return
                }
                let property = unsafe Property(name: name, value: bytes)
                switch model[key] {
                case nil:
                    order.insert(property)
                    model[key] = (property, .random(in: 0...2000, using: &random))
                case (let former, _)? where step % 5 == 0:
                    order.remove(former)
                    model[key] = nil
                case (let former, let hint)?:
                    let found = order.replace(former, by: property, hint)
                    model[key] = (property, found)
                    let again = unsafe Property(name: name, value: bytes)
                    #expect(order.replace(property, by: again, found) == found)
                    model[key] = (again, found)
                }
            }
        }
        var found: [Property] = []
        order.visit { found.append($0) }
        let expected = model.values.map(\.property).sorted {
            unsafe $0.nameBytes.precedes($1.nameBytes)
        }
        #expect(found.count == expected.count)
        #expect(zip(found, expected).allSatisfy { $0.isSame(as: $1) })
        let names = expected.map { PropertyName(of: $0).text }
        for prefix in ["", "name", "name1", "name14", "name149", "name1499", "name2", "zzz", "a"] {
            let wanted = names.filter { $0.hasPrefix(prefix) }
            let bytes = OwnedBytes(Array(prefix.utf8))
            #expect(unsafe order.count(prefix: bytes.bytes) == wanted.count)
            let some = unsafe order.count(prefix: bytes.bytes, max: 600)
            #expect(some == wanted.count || some > 600 && some <= wanted.count)
        }
    }

    @Test(arguments: 1...20)
    func `the stripes of a selection ascend, and each property finds its own`(seed: Int) {
        var random = SeededGenerator(UInt64(seed))
        for count in 0..<40 {
            let stripes = (0..<count).map { _ in Int.random(in: 0..<16, using: &random) }
            let selection = TableSelection(stripes)
            #expect(selection.stripes == (count == 0 ? [0] : Set(stripes).sorted()))
            #expect(selection.positions.map { selection.stripes[$0] } == stripes)
        }
    }
}

import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// The queues of the store against arrays.
struct ContainerTests {
    @Test(arguments: 1...20)
    func `a ring holds what an array would`(seed: Int) {
        var random = SeededGenerator(UInt64(seed))
        var ring = RingBuffer<Int>()
        var model: [Int] = []
        // The more often it grows, the more often its start is not that of the array.
        let growth = Int.random(in: 4...6, using: &random)
        for step in 0..<600 {
            if Int.random(in: 0..<10, using: &random) < growth {
                ring.append(step)
                model.append(step)
            } else {
                #expect(ring.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
            }
            #expect((0..<ring.count).map { ring[$0] } == model)
        }
    }

    @Test(arguments: 1...20)
    func `a heap gives its elements in their order`(seed: Int) {
        var random = SeededGenerator(UInt64(seed))
        var model = (0..<Int.random(in: 0...40, using: &random)).map { _ in
            Weight(value: .random(in: 0..<50, using: &random))
        }
        var heap = BinaryHeap(model)
        for _ in 0..<600 {
            model.sort { $0.value < $1.value }
            #expect(heap.first?.value == model.first?.value)
            #expect(heap.count == model.count)
            let weight = Weight(value: .random(in: 0..<50, using: &random))
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1, 2:
                heap.insert(weight)
                model.append(weight)
            case 3 where !model.isEmpty:
                heap.updateFirst { $0 = weight }
                model[0] = weight
            default:
                if !model.isEmpty {
                    heap.removeFirst()
                    model.removeFirst()
                }
            }
        }
    }
}

private struct Weight: Precedable {
    let value: Int

    func precedes(_ other: Weight) -> Bool { value < other.value }
}

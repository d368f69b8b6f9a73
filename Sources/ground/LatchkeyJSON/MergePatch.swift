/// Merge patches (RFC 7396).
package enum MergePatch {
    /// The target after the patch, as a JSON text.
    ///
    /// The members that the patch does not name keep their bytes and their order. Members that it
    /// adds stand at the end. Of members with the same name, in the patch or in the target, only
    /// the last one has an effect. Arrays and scalars of the patch keep their bytes.
    ///
    /// It takes time in proportion to both texts, and does not recurse. A target that is missing
    /// or no object counts as an empty object.
    package static func apply(patch: JSONView, to target: JSONView?) -> [UInt8] {
        var units = JSONWork.unbounded
        return apply(patch: patch, to: target, within: &units) ?? []
    }

    /// How many names and values are merged for one unit of work.
    private static let nodesPerUnit = 16

    /// The same; nil if that is more work than there are units, which become fewer.
    ///
    /// Sixteen names and values, of patch and target together, are a unit.
    package static func apply(
        patch: JSONView,
        to target: JSONView?,
        within units: inout Int
    ) -> [UInt8]? {
        guard patch.kind == .object else {
            return unsafe Array(patch.bytes)
        }
        func outline(_ value: JSONView) -> JSONOutline? {
            JSONOutline(value, opensArrays: false, nodesPerUnit: nodesPerUnit, within: &units)
        }
        guard let patch = outline(patch) else {
            return nil
        }
        var object: JSONOutline?
        if let target, target.kind == .object {
            guard let outline = outline(target) else {
                return nil
            }
            object = outline
        }
        var merge = Merge(patch: patch, target: object)
        merge.plan()
        return merge.text()
    }
}

/// One merge, in two steps: first each member gets its mark, then the members are copied.
///
/// A member of the target whose partner is a member of the patch gets its value. A member of the
/// patch without a mark is added.
private struct Merge {
    /// The mark of a member that is not copied from its place.
    private static let left: Int32 = -2

    private var patch: JSONOutline
    private var target: JSONOutline?
    private var index = MemberIndex()

    init(patch: JSONOutline, target: JSONOutline?) {
        self.patch = patch
        self.target = target
    }

    /// Objects of the patch, and the objects that they change.
    private typealias Pair = (patch: Int32, target: Int32?)

    /// Marks what happens to the members.
    mutating func plan() {
        var pairs: ContiguousArray<Pair> = [(0, target == nil ? nil : 0)]
        while let pair = pairs.popLast() {
            indexPatch(pair.patch)
            if let object = pair.target {
                findPartners(object)
            }
            for entry in index.entries {
                let value = entry.node + 1
                let kind = patch.kind(value)
                if entry.partner != JSONOutline.none {
                    patch[partner: entry.node] = Self.left
                    target?[partner: entry.partner] = kind == .null ? Self.left : entry.node
                } else if kind == .null {
                    patch[partner: entry.node] = Self.left
                }
                if kind == .object {
                    pairs.append((value, object(of: entry.partner)))
                }
            }
        }
    }

    /// The value of the target's member, if it is an object.
    private func object(of name: Int32) -> Int32? {
        guard name != JSONOutline.none, target?.kind(name + 1) == .object else {
            return nil
        }
        return name + 1
    }

    private mutating func indexPatch(_ object: Int32) {
        index.removeAll()
        var name = object + 1
        while name < patch.after(object) {
            if let former = index.set(patch.view(name), node: name) {
                patch[partner: former] = Self.left
            }
            name = patch.after(name + 1)
        }
    }

    /// Finds the members of the target that the patch names.
    private mutating func findPartners(_ object: Int32) {
        guard !index.entries.isEmpty, var outline = target else {
            return
        }
        // The outline is changed in place, so it must not be shared meanwhile.
        target = nil
        defer { target = outline }
        var name = object + 1
        while name < outline.after(object) {
            if let place = index.find(outline.view(name)) {
                let former = index.setPartner(name, at: place)
                if former != JSONOutline.none {
                    outline[partner: former] = Self.left
                }
            }
            name = outline.after(name + 1)
        }
    }

    /// An object that is being written.
    private struct Frame {
        /// The next member of the target.
        var name: Int32 = 0
        var end: Int32 = 0
        /// The next member of the patch.
        var patchName: Int32
        let patchEnd: Int32
        var isEmpty = true
    }

    /// Copies the members as they are marked.
    func text() -> [UInt8] {
        var text: [UInt8] = []
        // Each comma and brace replaces one of the two texts.
        unsafe text.reserveCapacity(patch.text.count + (target?.text.count ?? 0))
        var frames: ContiguousArray<Frame> = [begin(0, target == nil ? nil : 0, &text)]
        while var frame = frames.popLast() {
            if let inner = continueTarget(&frame, &text) ?? continuePatch(&frame, &text) {
                frames.append(frame)
                frames.append(inner)
            } else {
                text.append(UInt8(ascii: "}"))
            }
        }
        return text
    }

    private func begin(_ object: Int32, _ targetObject: Int32?, _ text: inout [UInt8]) -> Frame {
        text.append(UInt8(ascii: "{"))
        var frame = Frame(patchName: object + 1, patchEnd: patch.after(object))
        if let targetObject, let target {
            frame.name = targetObject + 1
            frame.end = target.after(targetObject)
        }
        return frame
    }

    /// Writes members of the target, until one is an object that the patch changes.
    private func continueTarget(_ frame: inout Frame, _ text: inout [UInt8]) -> Frame? {
        guard let target else {
            return nil
        }
        while frame.name < frame.end {
            let name = frame.name
            let mark = target[partner: name]
            frame.name = target.after(name + 1)
            switch mark {
            case Self.left:
                break
            case JSONOutline.none:
                // Neighbours that stay are copied at once, with the bytes between them.
                var last = name + 1
                while frame.name < frame.end, target[partner: frame.name] == JSONOutline.none {
                    last = frame.name + 1
                    frame.name = target.after(last)
                }
                separate(&frame, &text)
                let range = target.nodes[Int(name)].start..<target.nodes[Int(last)].end
                unsafe text.append(contentsOf: target.text[range])
            default:
                separate(&frame, &text)
                let range = target.nodes[Int(name)].start..<target.nodes[Int(name + 1)].start
                unsafe text.append(contentsOf: target.text[range])
                if let inner = write(mark + 1, object(of: name), &text) {
                    return inner
                }
            }
        }
        return nil
    }

    /// Writes members that the patch adds, until one is an object.
    private func continuePatch(_ frame: inout Frame, _ text: inout [UInt8]) -> Frame? {
        while frame.patchName < frame.patchEnd {
            let name = frame.patchName
            frame.patchName = patch.after(name + 1)
            guard patch[partner: name] == JSONOutline.none else {
                continue
            }
            separate(&frame, &text)
            let range = patch.nodes[Int(name)].start..<patch.nodes[Int(name + 1)].start
            unsafe text.append(contentsOf: patch.text[range])
            if let inner = write(name + 1, nil, &text) {
                return inner
            }
        }
        return nil
    }

    private func separate(_ frame: inout Frame, _ text: inout [UInt8]) {
        if !frame.isEmpty {
            text.append(UInt8(ascii: ","))
        }
        frame.isEmpty = false
    }

    /// Writes a value of the patch, unless it is an object, which is begun.
    private func write(_ value: Int32, _ object: Int32?, _ text: inout [UInt8]) -> Frame? {
        guard patch.kind(value) != .object else {
            return begin(value, object, &text)
        }
        unsafe text.append(contentsOf: patch.view(value).bytes)
        return nil
    }
}

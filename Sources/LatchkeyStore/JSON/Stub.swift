@safe struct JSONView {
    let bytes: UnsafeRawBufferPointer
    init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = bytes }
}
enum MergePatch {
    static func apply(_ patch: JSONView, to target: JSONView?) -> [UInt8] {
        unsafe Array(patch.bytes)
    }
}
enum JSONEquality {
    static func areEqual(_ one: JSONView, _ other: JSONView) -> Bool {
        unsafe one.bytes.equals(other.bytes)
    }
}

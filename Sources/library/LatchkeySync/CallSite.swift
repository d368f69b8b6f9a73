/// Where an access function was called.
///
/// Two words, so that an observer can remember it.
///
/// SAFETY: `@safe`, `@unchecked Sendable` because `start` leads to the bytes of a literal, which
/// live as long as the program and do not change.
@safe
public struct CallSite: BitwiseCopyable, @unchecked Sendable {
    @usableFromInline let start: UnsafePointer<UInt8>
    @usableFromInline let byteCount: UInt32
    /// The line; 0 if the place is not known.
    public let line: UInt32

    /// A place in the source.
    @inlinable public init(_ fileID: StaticString = #fileID, _ line: UInt = #line) {
        unsafe start = fileID.utf8Start
        byteCount = UInt32(truncatingIfNeeded: fileID.utf8CodeUnitCount)
        self.line = UInt32(truncatingIfNeeded: line)
    }

    /// An unknown place: a property does not learn where it is used.
    @inlinable public static var unknown: CallSite { CallSite("", 0) }

    /// Whether the place is known.
    @inlinable public var isKnown: Bool { line != 0 }

    /// The file as `#fileID` has it: `Module/File.swift`.
    public var fileID: String {
        unsafe String(
            decoding: UnsafeBufferPointer(start: start, count: Int(byteCount)),
            as: UTF8.self
        )
    }

    var location: String { isKnown ? " at \(fileID):\(line)" : "" }
}

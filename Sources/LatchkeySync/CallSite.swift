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

    /// Somewhere: a property does not learn where it is used.
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

/// An observer that knows a place that matters more than where the access function was called.
///
/// If the base knows one already, that one is meant: a caller further out has named it.
@usableFromInline package struct SiteObserver<Base: EntryObserver>: EntryObserver {
    @usableFromInline let base: Base
    @usableFromInline let place: CallSite

    @inlinable package static var isActive: Bool { Base.isActive }
    @inlinable package var site: CallSite { base.site.isKnown ? base.site : place }

    @inlinable init(_ base: Base, _ place: CallSite) {
        self.base = base
        self.place = place
    }

    @inlinable @inline(__always)
    package func asks(_ request: AccessRequest) -> Base.Entry { base.asks(request) }

    @inlinable @inline(__always)
    package func isBlocked(_ entry: inout Base.Entry) { base.isBlocked(&entry) }

    @inlinable @inline(__always)
    package func enters(_ entry: inout Base.Entry) { base.enters(&entry) }

    @inlinable @inline(__always) package func leaves(_ entry: Base.Entry) { base.leaves(entry) }

    @inlinable package func givesUp(_ entry: Base.Entry) { base.givesUp(entry) }
}

extension EntryObserver {
    /// This observer, with the place of this call.
    ///
    /// For a function between the program and an access function.
    @inlinable @inline(__always) package func here(
        _ fileID: StaticString = #fileID,
        _ line: UInt = #line
    ) -> SiteObserver<Self> {
        SiteObserver(self, CallSite(fileID, line))
    }

    /// The place that this observer knows, else that of the access function.
    @inlinable @inline(__always)
    func place(_ site: CallSite) -> CallSite { self.site.isKnown ? self.site : site }
}

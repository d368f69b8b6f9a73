internal import Glibc

/// Copies of texts for C, which are freed with this object.
///
/// SAFETY: `@safe` because the copies live as long as the object; code that uses a pointer keeps
/// it.
@safe
package final class CTexts {
    /// The copies, and a null pointer after them.
    package let list: [UnsafeMutablePointer<CChar>?]

    /// Copies the texts; nil is a null pointer.
    package init(_ texts: [String?]) {
        unsafe list = texts.map { text in unsafe text.flatMap { unsafe strdup($0) } } + [nil]
    }

    /// The variables of an environment, as `environ(7)` has them.
    package convenience init(environment: [String: String]) {
        self.init(environment.map { "\($0.key)=\($0.value)" })
    }

    deinit {
        for index in unsafe list.indices {
            unsafe free(list[index])
        }
    }

    package subscript(index: Int) -> UnsafePointer<CChar>? { unsafe UnsafePointer(list[index]) }

    /// Lends the texts from an index on, with a null pointer after them.
    package func withList(
        from start: Int,
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Void
    ) {
        let rest = unsafe list[start...].map { unsafe UnsafePointer<CChar>($0) }
        unsafe rest.withUnsafeBufferPointer { unsafe body($0.baseAddress) }
    }
}

/// Counts the allocations of the process, where the program has a way to do that.
///
/// A lab has one, because it replaces the C library's functions. `latchkey` has none, since its
/// service is not to be slower for it.
///
/// **Design.** One slice counts at a time. The thread that begins is left out, so that its waiting
/// for the others adds nothing.
package struct AllocationCounter: Sendable {
    /// False if it is not possible after all.
    let begin: @Sendable () -> Bool
    /// So far.
    let count: @Sendable () -> Int
    let end: @Sendable () -> Void

    package init(
        begin: @escaping @Sendable () -> Bool,
        count: @escaping @Sendable () -> Int,
        end: @escaping @Sendable () -> Void
    ) {
        self.begin = begin
        self.count = count
        self.end = end
    }
}

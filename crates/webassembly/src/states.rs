//! The states of connections: places in the memory of an instance.

/// Size of a page of memory, in bytes.
pub(crate) const PAGE: usize = 1 << 16;
/// Alignment of states, in bytes.
const ALIGNMENT: usize = 16;

/// The places for states in the memory of an instance.
pub(crate) struct States {
    /// Size of a state, in bytes.
    pub(crate) bytes: usize,
    /// Addresses of states that no connection has.
    free: Vec<u32>,
}

impl States {
    /// No place yet.
    pub(crate) fn new(bytes: u32) -> Self {
        Self {
            bytes: bytes as usize,
            free: Vec::new(),
        }
    }

    fn size(&self) -> usize {
        self.bytes.max(1).next_multiple_of(ALIGNMENT)
    }

    /// The pages by which the memory has to grow for another state; 0 if a place is free.
    pub(crate) fn missing_pages(&self) -> usize {
        if self.free.is_empty() {
            self.size().div_ceil(PAGE)
        } else {
            0
        }
    }

    /// Adds the places of new pages, which begin at an address.
    pub(crate) fn add(&mut self, begin: usize, pages: usize) {
        let (size, end) = (self.size(), begin + pages * PAGE);
        // The lowest address is the first to be used.
        let states = (begin..=end - size).step_by(size).map(|at| at as u32);
        self.free
            .extend(states.collect::<Vec<_>>().into_iter().rev());
    }

    /// The address of a free place.
    ///
    /// # Errors
    /// A text if there is none.
    pub(crate) fn take(&mut self) -> Result<u32, String> {
        let free = self.free.pop();
        free.ok_or_else(|| "found no room for a state".to_owned())
    }

    /// Gives a place back.
    pub(crate) fn release(&mut self, state: u32) {
        self.free.push(state);
    }
}

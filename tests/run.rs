//! Runs promises, each on a thread and a runtime of its own. What its machines logged is shown if it was not kept.

use std::{cell::RefCell, error::Error, panic, pin::Pin, process::ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};

/// How a promise ends: an assertion that fails, or an error of what it was tested with.
pub type Kept = Result<(), Box<dyn Error + Send + Sync>>;

/// One promise.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    /// The promise, as a sentence.
    pub name: &'static str,
    /// Puts it to the test.
    pub keep: fn() -> Pin<Box<dyn Future<Output = Kept>>>,
}

/// The test program.
#[must_use]
pub fn run(promises: impl IntoIterator<Item = &'static Promise>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(AT_ONCE);
    let trial = |promise: &'static Promise| Trial::test(promise.name, move || put_to_the_test(promise));
    libtest_mimic::run(&arguments, promises.into_iter().map(trial).collect()).exit_code()
}

fn put_to_the_test(promise: &'static Promise) -> Result<(), Failed> {
    // One thread: the kernel ends a machine's processes with the thread that started them.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let kept = panic::catch_unwind(panic::AssertUnwindSafe(|| runtime.block_on((promise.keep)())));
    let log = LOG.take();
    match kept {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(format!("{}\n{log}", chain(error.as_ref())).into()),
        Err(panic) => {
            let words = panic.downcast_ref::<String>().cloned();
            let words = words.or_else(|| panic.downcast_ref::<&str>().map(|&words| words.to_owned()));
            Err(format!("{}\n{log}", words.unwrap_or_default()).into())
        }
    }
}

/// Keeps what a machine logged until the promise on this thread has ended.
pub(crate) fn keep_log(text: &str) {
    LOG.with_borrow_mut(|log| log.push_str(text));
}

fn chain(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

thread_local! {
    static LOG: RefCell<String> = const { RefCell::new(String::new()) };
}

/// More than the processors: a test waits for seconds and works for milliseconds.
const AT_ONCE: usize = 20;

//! Emulation for Python: programs behind the links of a scenario, on Linux only.

use forebay_kernel::KernelEngine;
use forebay_scenario::{Engine, EngineError};
use pyo3::prelude::*;

use crate::errors::engine_error;
use crate::scenario::Scenario;

/// The present state of the target link.
#[pyclass(module = "forebay._core", frozen, get_all)]
pub(crate) struct Live {
    time_s: f64,
    arrived: u64,
    dropped: u64,
    marked: u64,
    waiting: u64,
    delay_s: f64,
    utilization: f64,
    strays: u64,
}

/// Return the sysctls that the kernel engine sets in its namespaces for a scenario, with their
/// values.
#[pyfunction]
pub(crate) fn kernel_sysctls(scenario: &Scenario) -> Vec<(String, String)> {
    forebay_kernel::sysctls(&scenario.inner)
}

/// The error of an emulation that has finished or could not begin.
fn over() -> PyErr {
    engine_error(&EngineError::Untrusted {
        engine: KernelEngine.description().name,
        why: "the emulation has ended".to_owned(),
    })
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io;
    use std::path::PathBuf;
    use std::process::{Command, Stdio};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use forebay_kernel::emulation;
    use forebay_kernel::namespaces::Running;
    use forebay_kernel::side::Side;
    use forebay_scenario::{RunOptions, Seed};
    use pyo3::exceptions::PyOSError;
    use pyo3::prelude::*;

    use super::{Live, over};
    use crate::errors::{InputError, engine_error};
    use crate::report::Report;
    use crate::scenario::Scenario;

    fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn side(name: &str) -> PyResult<Side> {
        match name {
            "near" => Ok(Side::Near),
            "far" => Ok(Side::Far),
            other => Err(InputError::new_err((
                format!("unknown side `{other}`; known: near, far"),
                "side",
            ))),
        }
    }

    /// Namespaces behind the links of a scenario, until the emulation is finished.
    #[pyclass(module = "forebay._core", frozen)]
    pub(crate) struct Emulation(Mutex<Option<emulation::Emulation>>);

    #[pymethods]
    impl Emulation {
        /// Begin to carry packets of programs along the path of this flow group.
        #[new]
        #[pyo3(signature = (scenario, group, seed, *, traces = false))]
        fn new(
            py: Python<'_>,
            scenario: &Scenario,
            group: usize,
            seed: u64,
            traces: bool,
        ) -> PyResult<Self> {
            let scenario = (*scenario.inner).clone();
            let options = RunOptions {
                traces,
                ..RunOptions::from(Seed {
                    seed,
                    replication: 0,
                })
            };
            let started = py.detach(|| emulation::Emulation::start(scenario, group, options));
            let started = started.map_err(|error| engine_error(&error))?;
            Ok(Self(Mutex::new(Some(started))))
        }

        /// Start a program with these variables in addition to its environment.
        ///
        /// If `reads` is false its standard input is empty. If `writes` is false its standard
        /// output goes to standard error. Standard output and standard error go into the files
        /// `output` and `errors`, if these are given.
        #[pyo3(signature = (at, arguments, variables, *, reads = true, writes = true, output = None, errors = None))]
        #[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
        fn run(
            &self,
            at: &str,
            arguments: Vec<String>,
            variables: Vec<(String, String)>,
            reads: bool,
            writes: bool,
            output: Option<PathBuf>,
            errors: Option<PathBuf>,
        ) -> PyResult<Program> {
            let Some((program, rest)) = arguments.split_first() else {
                return Err(InputError::new_err(("no command is given", "command")));
            };
            let mut command = Command::new(program);
            command.args(rest).envs(variables);
            if !reads {
                command.stdin(Stdio::null());
            }
            if !writes {
                command.stdout(Stdio::from(io::stderr()));
            }
            if let Some(path) = output {
                command.stdout(File::create(path)?);
            }
            if let Some(path) = errors {
                command.stderr(File::create(path)?);
            }
            let guard = lock(&self.0);
            let emulation = guard.as_ref().ok_or_else(over)?;
            let running = emulation.run(side(at)?, command);
            let running = running.map_err(|error| PyOSError::new_err(error.to_string()))?;
            Ok(Program(Mutex::new(running)))
        }

        /// Return the address of a side.
        fn address(&self, at: &str) -> PyResult<String> {
            let guard = lock(&self.0);
            let address = guard.as_ref().ok_or_else(over)?.address(side(at)?);
            Ok(address
                .map(|address| address.to_string())
                .unwrap_or_default())
        }

        /// Return a process in the namespace of a side, and the nsenter(1) command that enters it.
        fn entry(&self, at: &str) -> PyResult<(i32, Vec<String>)> {
            let guard = lock(&self.0);
            let entry = guard.as_ref().ok_or_else(over)?.entry(side(at)?);
            Ok((entry.pid, entry.command))
        }

        /// Return the present state of the target link.
        fn live(&self) -> PyResult<Live> {
            let guard = lock(&self.0);
            let live = guard.as_ref().ok_or_else(over)?.live();
            Ok(Live {
                time_s: live.time_s,
                arrived: live.arrived,
                dropped: live.dropped,
                marked: live.marked,
                waiting: live.waiting,
                delay_s: live.delay_s,
                utilization: live.utilization,
                strays: live.strays,
            })
        }

        /// Return whether packets are still carried.
        fn goes_on(&self) -> bool {
            let guard = lock(&self.0);
            guard.as_ref().is_some_and(emulation::Emulation::goes_on)
        }

        /// End the emulation and return the link's report.
        fn finish(&self, py: Python<'_>) -> PyResult<Report> {
            let emulation = lock(&self.0).take().ok_or_else(over)?;
            let report = py.detach(|| emulation.finish());
            let report = report.map_err(|error| engine_error(&error))?;
            Ok(Report::new(report))
        }
    }

    /// A program in a namespace.
    #[pyclass(module = "forebay._core", frozen)]
    pub(crate) struct Program(Mutex<Running>);

    #[pymethods]
    impl Program {
        /// Return its exit status, negative after a signal; None while it runs.
        fn poll(&self) -> PyResult<Option<i32>> {
            use std::os::unix::process::ExitStatusExt;
            let status = lock(&self.0).try_wait();
            let status = status.map_err(|error| PyOSError::new_err(error.to_string()))?;
            Ok(status.map(|status| {
                let signal = status.signal().map_or(0, |signal| -signal);
                status.code().unwrap_or(signal)
            }))
        }

        /// The process whose only child the program is; it ends with the program.
        #[getter]
        fn pid(&self) -> u32 {
            lock(&self.0).child().id()
        }

        /// Kill the program at once.
        fn kill(&self) -> PyResult<()> {
            let killed = lock(&self.0).kill();
            killed.map_err(|error| PyOSError::new_err(error.to_string()))
        }
    }
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{Emulation, Program};

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::path::PathBuf;

    use forebay_kernel::KernelEngine;
    use forebay_kernel::missing::Missing;
    use forebay_scenario::{Engine, EngineError};
    use pyo3::prelude::*;

    use super::{Live, over};
    use crate::errors::engine_error;
    use crate::report::Report;
    use crate::scenario::Scenario;

    /// A placeholder: only Linux has such namespaces.
    #[pyclass(module = "forebay._core", frozen)]
    pub(crate) struct Emulation;

    #[pymethods]
    impl Emulation {
        /// Raise an error that says what is missing.
        #[new]
        #[pyo3(signature = (scenario, group, seed, *, traces = false))]
        fn new(scenario: &Scenario, group: usize, seed: u64, traces: bool) -> PyResult<Self> {
            let _ = (scenario, group, seed, traces);
            let missing = Missing::NotLinux {
                found: std::env::consts::OS,
            };
            Err(engine_error(&EngineError::Unavailable {
                engine: KernelEngine.description().name,
                what: missing.to_string(),
            }))
        }

        #[pyo3(signature = (at, arguments, variables, *, reads = true, writes = true, output = None, errors = None))]
        #[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
        fn run(
            &self,
            at: &str,
            arguments: Vec<String>,
            variables: Vec<(String, String)>,
            reads: bool,
            writes: bool,
            output: Option<PathBuf>,
            errors: Option<PathBuf>,
        ) -> PyResult<Program> {
            let _ = (at, arguments, variables, reads, writes, output, errors);
            Err(over())
        }

        fn address(&self, _at: &str) -> PyResult<String> {
            Err(over())
        }

        fn entry(&self, _at: &str) -> PyResult<(i32, Vec<String>)> {
            Err(over())
        }

        fn live(&self) -> PyResult<Live> {
            Err(over())
        }

        fn goes_on(&self) -> bool {
            false
        }

        fn finish(&self) -> PyResult<Report> {
            Err(over())
        }
    }

    /// A placeholder.
    #[pyclass(module = "forebay._core", frozen)]
    pub(crate) struct Program;

    #[pymethods]
    impl Program {
        fn poll(&self) -> Option<i32> {
            None
        }

        #[getter]
        fn pid(&self) -> u32 {
            0
        }

        fn kill(&self) {}
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{Emulation, Program};

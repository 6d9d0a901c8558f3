#pragma once

#include <functional>
#include <string>

namespace matapprox {

/// The part of reading a file that is done by another library, which may crash on a damaged file.
struct TrialRead {
  std::string path;            ///< path of the file or folder, for messages
  std::string library;         ///< "HDF5", "MATLAB", "PNG" or "JPEG"
  std::function<void()> read;  ///< reads all that the library decodes and discards the result
  double seconds = 0;          ///< time limit; 0: depends on the size of the file
};

/// Runs trial.read where a crash does no harm: in a forked child, on one thread; or, only to
/// observe it, in this process. Returns if trial.read succeeds, and throws its exception, or
/// FileError for a crash. A guard must run trial.read, because one reader uses results that it
/// leaves in memory shared by parent and child. `trial` exists until the guard returns.
using ReadGuard = std::function<void(const TrialRead& trial)>;

/// Sets the guard. Every reader of HDF5, MATLAB, PNG and JPEG files first calls `guard` and then
/// reads the file itself; of an Hdf5Operator only the metadata are tried, not the panels. Without a
/// guard, as at the start of a process, readers check sizes and structure and then read: a file
/// that was made to crash an old libhdf5, libmatio, libpng or libjpeg then crashes the process. The
/// command line programs set a guard that forks. Must not be called while another thread reads.
void set_read_guard(ReadGuard guard);

/// Disables libhdf5's cleanup at the end of the process, which prints "infinite loop closing
/// library" after some damaged files. For programs, before the first use of HDF5. All files that
/// this library writes are closed when they are complete.
void leave_hdf5_open_at_exit();

/// Runs `action` while no other thread of this process is inside libhdf5. A guard forks in
/// `action`: otherwise the child could inherit libhdf5's lock from a thread that does not exist in
/// the child.
void outside_hdf5(const std::function<void()>& action);

}  // namespace matapprox

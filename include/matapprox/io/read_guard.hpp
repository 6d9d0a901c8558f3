#pragma once

#include <functional>
#include <string>

namespace matapprox {

/// The part of reading a file that is left to a library which may crash on a damaged one.
struct TrialRead {
  std::string path;            ///< of the file or folder, for messages
  std::string library;         ///< "HDF5", "MATLAB", "PNG" or "JPEG"
  std::function<void()> read;  ///< reads all that the library decodes, and throws its result away
  double seconds = 0;          ///< it may take; 0: by the size of the file
};

/// Runs trial.read where a crash does no harm: in a forked child, on one thread, or, to watch only,
/// here. Returns if it came through, and throws what it threw, or FileError for a crash. It must
/// run it: one reader takes what it left in memory that parent and child share. `trial` lives until
/// the guard returns.
using ReadGuard = std::function<void(const TrialRead& trial)>;

/// Every reader of HDF5, MATLAB, PNG and JPEG files calls `guard` first and then reads the file
/// itself, except the panels of an Hdf5Operator, whose metadata alone are tried. Without one, which
/// is how a process begins, they check sizes and structure and read: then a file that was made to
/// crash an old libhdf5, libmatio, libpng or libjpeg does. The command line programs set one that
/// forks. Not while another thread reads.
void set_read_guard(ReadGuard guard);

/// Has libhdf5 do nothing at the end of the process, where after some damaged files it prints
/// "infinite loop closing library". For programs, before the first use of HDF5; all files that this
/// library writes are closed when they are complete.
void leave_hdf5_open_at_exit();

/// Runs `action` while no other thread of this process is inside libhdf5: a guard forks in it, for
/// the child would inherit that library's lock locked by a thread that it does not have.
void outside_hdf5(const std::function<void()>& action);

}  // namespace matapprox

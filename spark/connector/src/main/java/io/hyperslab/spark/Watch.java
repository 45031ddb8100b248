package io.hyperslab.spark;

import io.hyperslab.NativeReader;
import io.hyperslab.Planning;
import io.hyperslab.SplitReader;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.apache.spark.TaskContext;

/**
 * Cancels native reads of tasks and native planning on the driver if Spark has cancelled them. A thread in a native call
 * cannot check for this itself, so one watcher thread per process checks for all of them.
 */
final class Watch {
  private static final long INTERVAL_MILLISECONDS = 50;

  /** How long after the last read the decoded chunks are kept that tasks share. */
  private static final long IDLE_MILLISECONDS = 10_000;

  /** Running native work, by its reader or planning. */
  private static final Map<Object, Watched> WATCHED = new ConcurrentHashMap<>();

  private static final class Watched {
    final BooleanSupplier isCancelled;
    final Runnable cancel;

    Watched(BooleanSupplier isCancelled, Runnable cancel) {
      this.isCancelled = isCancelled;
      this.cancel = cancel;
    }
  }

  static {
    Thread thread = new Thread(Watch::watch, "hyperslab-watch");
    thread.setDaemon(true);
    thread.start();
  }

  private Watch() {}

  /** @param task the task; null outside of a task, where Spark cancels nothing */
  static void add(SplitReader reader, TaskContext task) {
    if (task != null) {
      WATCHED.put(reader, new Watched(task::isInterrupted, reader::cancel));
    }
  }

  static void remove(SplitReader reader) {
    WATCHED.remove(reader);
  }

  /** Plans on this thread. Interrupting the thread, which is how Spark cancels planning, cancels the native call. */
  static <T> T planning(Function<Planning, T> plan) {
    Thread planner = Thread.currentThread();
    try (Planning planning = new Planning()) {
      WATCHED.put(planning, new Watched(planner::isInterrupted, planning::cancel));
      try {
        return plan.apply(planning);
      } finally {
        WATCHED.remove(planning);
      }
    }
  }

  private static void watch() {
    long idle = 0;
    while (true) {
      idle = WATCHED.isEmpty() ? idle + INTERVAL_MILLISECONDS : 0;
      if (idle == IDLE_MILLISECONDS) {
        NativeReader.forgetChunks();
      }
      WATCHED.values().forEach(watched -> {
        if (watched.isCancelled.getAsBoolean()) {
          watched.cancel.run();
        }
      });
      try {
        Thread.sleep(INTERVAL_MILLISECONDS);
      } catch (InterruptedException ignored) {
        // No one interrupts this daemon thread; it ends with the process.
      }
    }
  }
}

package io.hyperslab.spark;

import io.hyperslab.Planning;
import io.hyperslab.SplitReader;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.apache.spark.TaskContext;

/**
 * Cancels native work that Spark wants to end: readers of tasks, and plannings of the driver. A thread that waits for
 * the native library looks at nothing, and the library knows no Spark, so one thread of each process looks for all.
 */
final class Watch {
  private static final long EVERY_MILLISECONDS = 50;

  /** How to cancel, and whether to. */
  private static final Map<Object, Watched> WATCHED = new ConcurrentHashMap<>();

  private static final class Watched {
    final BooleanSupplier unwanted;
    final Runnable cancel;

    Watched(BooleanSupplier unwanted, Runnable cancel) {
      this.unwanted = unwanted;
      this.cancel = cancel;
    }
  }

  static {
    Thread thread = new Thread(Watch::watch, "hyperslab-watch");
    thread.setDaemon(true);
    thread.start();
  }

  private Watch() {}

  /** @param task null outside of a task, which nothing can interrupt */
  static void add(SplitReader reader, TaskContext task) {
    if (task != null) {
      WATCHED.put(reader, new Watched(task::isInterrupted, reader::cancel));
    }
  }

  static void remove(SplitReader reader) {
    WATCHED.remove(reader);
  }

  /** Plans on this thread, until it is done or the thread is interrupted: that is how Spark ends a query that plans. */
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
    while (true) {
      WATCHED.values().forEach(watched -> {
        if (watched.unwanted.getAsBoolean()) {
          watched.cancel.run();
        }
      });
      try {
        Thread.sleep(EVERY_MILLISECONDS);
      } catch (InterruptedException ignored) {
        // Nothing interrupts this thread; it ends with the process.
      }
    }
  }
}

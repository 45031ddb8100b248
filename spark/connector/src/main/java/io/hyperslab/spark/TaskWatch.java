package io.hyperslab.spark;

import io.hyperslab.SplitReader;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.TaskContext;

/**
 * Cancels the readers of tasks that Spark wants to end. A task that waits for the native library looks at nothing, and
 * the library knows no Spark, so one thread of each executor looks for all of them.
 */
final class TaskWatch {
  private static final long EVERY_MILLISECONDS = 50;
  private static final Map<SplitReader, TaskContext> READERS = new ConcurrentHashMap<>();

  static {
    Thread thread = new Thread(TaskWatch::watch, "hyperslab-task-watch");
    thread.setDaemon(true);
    thread.start();
  }

  private TaskWatch() {}

  /** @param task null outside of a task, where nothing can ask to end */
  static void add(SplitReader reader, TaskContext task) {
    if (task != null) {
      READERS.put(reader, task);
    }
  }

  static void remove(SplitReader reader) {
    READERS.remove(reader);
  }

  private static void watch() {
    while (true) {
      READERS.forEach(
          (reader, task) -> {
            if (task.isInterrupted()) {
              reader.cancel();
            }
          });
      try {
        Thread.sleep(EVERY_MILLISECONDS);
      } catch (InterruptedException ignored) {
        // Nobody has a reason to interrupt this thread; it ends with the process.
      }
    }
  }
}

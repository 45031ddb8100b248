package io.hyperslab.spark;

import io.hyperslab.InternalException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.collection.Iterator;

/**
 * Refreshes cached DataFrames whose files this session has written. Spark does this for its own file sources only, and has no
 * interface for others, so this class reads Spark's cache by reflection. The session's class, which the methods of the cache
 * name, differs between Spark 3.5 and 4.
 */
public final class CachedFrames {
  private static final Logger LOG = LoggerFactory.getLogger(CachedFrames.class);

  private CachedFrames() {}

  /**
   * Reads cached DataFrames again that may have rows of what was written.
   *
   * @param path the path or address of a file or folder
   */
  public static void refresh(SparkSession session, String path) {
    TableFiles.written(path);
    try {
      refreshFramesOf(session, path);
    } catch (RuntimeException error) {
      // Spark's cache is another one, or the table of a DataFrame is gone. The write itself is
      // complete, and without the cache
      // every DataFrame has the rows of its files.
      LOG.warn("all cached DataFrames are dropped: {}", error.getMessage());
      session.catalog().clearCache();
    }
  }

  private static void refreshFramesOf(SparkSession session, String path) {
    Object manager = session.sharedState().cacheManager();
    List<LogicalPlan> refreshed = new ArrayList<>();
    for (Object cached : items(call(manager, "cachedData"))) {
      for (Object leaf : items(call(call(cached, "plan"), "collectLeaves"))) {
        Table table =
            leaf instanceof DataSourceV2Relation ? ((DataSourceV2Relation) leaf).table() : null;
        if (table instanceof Hdf5Table && ((Hdf5Table) table).files().mayRead(path)) {
          ((Hdf5Table) table).files().forget();
          refreshed.add((LogicalPlan) leaf);
        }
      }
    }
    refreshed.forEach(plan -> call(manager, "recacheByPlan", session, plan));
  }

  private static List<Object> items(Object sequence) {
    List<Object> items = new ArrayList<>();
    Iterator<?> iterator = (Iterator<?>) call(sequence, "iterator");
    while (iterator.hasNext()) {
      items.add(iterator.next());
    }
    return items;
  }

  /** Calls the method of this name with this number of parameters. */
  private static Object call(Object target, String name, Object... arguments) {
    for (Class<?> type = target.getClass(); type != null; type = type.getSuperclass()) {
      for (Method method : type.getDeclaredMethods()) {
        if (method.getName().equals(name) && method.getParameterCount() == arguments.length) {
          try {
            method.setAccessible(true);
            return method.invoke(target, arguments);
          } catch (ReflectiveOperationException error) {
            Throwable cause = error.getCause() == null ? error : error.getCause();
            if (cause instanceof RuntimeException) {
              throw (RuntimeException) cause;
            }
            throw new InternalException("cannot refresh cached DataFrames: " + cause);
          }
        }
      }
    }
    throw new InternalException(
        "cannot refresh cached DataFrames: this version of Spark has no method " + name + " of "
            + target.getClass().getName());
  }
}

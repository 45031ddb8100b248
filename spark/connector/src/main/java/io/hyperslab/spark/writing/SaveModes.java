package io.hyperslab.spark.writing;

import io.hyperslab.ConflictException;
import io.hyperslab.UnsupportedException;
import io.hyperslab.spark.CachedFrames;
import io.hyperslab.spark.hadoop.HadoopFiles;
import java.nio.file.LinkOption;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.DataFrameWriter;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * Implements {@code df.write.format("hdf5").mode(…).save(path)}. Spark's data source interface V2 supports only two of the
 * four save modes, so saves arrive here through V1, which supports all, and continue through V2 ({@link WriteSource}).
 */
public final class SaveModes {
  private SaveModes() {}

  /**
   * Writes a DataFrame. Does nothing if the mode is {@code Ignore} and the file exists.
   *
   * @throws ConflictException if the mode is {@code ErrorIfExists} and the file exists
   */
  public static BaseRelation save(
      SQLContext context,
      SaveMode mode,
      scala.collection.immutable.Map<String, String> parameters,
      Dataset<Row> data) {
    Map<String, String> given = new HashMap<>();
    // Spark's map iterates over names in lower case, and Hadoop's settings have others.
    Iterator<Tuple2<String, String>> all = (parameters instanceof CaseInsensitiveMap
            ? ((CaseInsensitiveMap<String>) parameters).originalMap()
            : parameters)
        .iterator();
    while (all.hasNext()) {
      Tuple2<String, String> parameter = all.next();
      given.put(parameter._1(), parameter._2());
    }
    save(mode, given, data);
    StructType schema = data.schema();
    return new BaseRelation() {
      @Override
      public SQLContext sqlContext() {
        return context;
      }

      @Override
      public StructType schema() {
        return schema;
      }
    };
  }

  /** Writes a DataFrame with the options {@code given}. */
  static void save(SaveMode mode, Map<String, String> given, Dataset<Row> data) {
    WriteOptions options = new WriteOptions(given);
    String path = options.path();
    List<String> partitionColumns = options.partitionColumns();
    if (!partitionColumns.isEmpty() && options.isRemote()) {
      throw new UnsupportedException(
          "partitionBy into a folder of a Hadoop file system is not supported: write one file, or a local folder",
          path,
          null,
          null);
    }
    Map<String, String> all = options.all();
    if (!partitionColumns.isEmpty()) {
      boolean isAdded = mode != SaveMode.Overwrite || options.replacedFolders() != null;
      partitionColumns = PartitionedBatch.folderNames(partitionColumns, path, isAdded);
      WriteOptions.putList(WriteOptions.PARTITIONS, partitionColumns, all);
      data = PartitionedBatch.withTexts(data, partitionColumns);
    }
    boolean exists = options.isRemote()
        ? isThere(options.hadoop(), path)
        : java.nio.file.Files.exists(Paths.get(path), LinkOption.NOFOLLOW_LINKS);
    if (mode == SaveMode.ErrorIfExists && exists) {
      throw new ConflictException(
          "the file exists already: use mode(\"overwrite\") or mode(\"append\")", path, null, null);
    }
    if (mode != SaveMode.Ignore || !exists) {
      DataFrameWriter<Row> writer =
          data.write().format(WriteSource.class.getName()).mode("append");
      all.forEach(writer::option);
      String plan =
          mode == SaveMode.Append ? "append" : mode == SaveMode.Overwrite ? "overwrite" : "create";
      writer.option(WriteOptions.MODE, plan).save();
      CachedFrames.refresh(
          data.sparkSession(), options.isRemote() ? options.hadoop().address(path) : path);
    }
  }

  private static boolean isThere(HadoopFiles files, String path) {
    return files.find(files.address(path)) != null;
  }
}

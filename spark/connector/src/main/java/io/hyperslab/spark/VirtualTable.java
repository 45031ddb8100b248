package io.hyperslab.spark;

import com.fasterxml.jackson.databind.JsonNode;
import io.hyperslab.IoException;
import io.hyperslab.NativeFile;
import io.hyperslab.spark.hadoop.HadoopEntry;
import io.hyperslab.spark.hadoop.HadoopFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;

/** A table of metadata: the files of a folder, the objects of a file, or their attributes. Read on the driver. */
final class VirtualTable implements SupportsRead {
  static final String OBJECTS = "_objects";
  static final String ATTRIBUTES = "_attributes";
  static final String FILES = "_files";

  private final String name;
  private final StructType schema;
  private final Supplier<List<InternalRow>> rows;

  private VirtualTable(String name, StructType schema, Supplier<List<InternalRow>> rows) {
    this.name = name;
    this.schema = schema;
    this.rows = rows;
  }

  /** Path, kind, shape and Arrow type of each object, and the reason if it cannot be read. */
  static VirtualTable objects(String file, String session) {
    StructType schema = new StructType()
        .add("path", DataTypes.StringType, false)
        .add("kind", DataTypes.StringType, false)
        .add("shape", DataTypes.createArrayType(DataTypes.LongType, false), true)
        .add("type", DataTypes.StringType, true)
        .add("refusal", DataTypes.StringType, true);
    return new VirtualTable(OBJECTS, schema, () -> {
      List<InternalRow> rows = new ArrayList<>();
      for (JsonNode object : Description.parse(NativeFile.objects(file, session))) {
        rows.add(row(
            text(object.get("path")),
            text(object.get("kind")),
            shape(object.get("shape")),
            text(object.get("type")),
            text(object.get("refusal"))));
      }
      return rows;
    });
  }

  private static final StructType FILES_SCHEMA = new StructType()
      .add("name", DataTypes.StringType, false)
      .add("path", DataTypes.StringType, false)
      .add("bytes", DataTypes.LongType, false)
      .add("modified", DataTypes.TimestampType, false);

  /** Name, address, size in bytes and modification time of each file of a folder of a Hadoop file system. */
  static VirtualTable files(HadoopFiles hadoop, String folder, Supplier<List<String>> names) {
    return new VirtualTable(FILES, FILES_SCHEMA, () -> {
      List<InternalRow> rows = new ArrayList<>();
      List<String> wanted = names.get();
      Map<String, HadoopEntry> entries = new HashMap<>();
      hadoop.members(folder).forEach(entry -> entries.put(entry.name, entry));
      for (String name : wanted) {
        HadoopEntry entry = entries.get(name);
        if (entry != null) {
          rows.add(row(
              UTF8String.fromString(name),
              UTF8String.fromString(entry.address),
              entry.length,
              TimeUnit.MILLISECONDS.toMicros(entry.modified)));
        }
      }
      return rows;
    });
  }

  /** Name, path, size in bytes and modification time of each file. */
  static VirtualTable files(Path folder, Supplier<List<String>> names) {
    return new VirtualTable(FILES, FILES_SCHEMA, () -> {
      List<InternalRow> rows = new ArrayList<>();
      for (String name : names.get()) {
        Path path = folder.resolve(name);
        try {
          long modified = java.nio.file.Files.getLastModifiedTime(path).to(TimeUnit.MICROSECONDS);
          rows.add(row(
              UTF8String.fromString(name),
              UTF8String.fromString(path.toString()),
              java.nio.file.Files.size(path),
              modified));
        } catch (IOException error) {
          throw new IoException(
              "cannot read the file's metadata: " + error, path.toString(), null, null);
        }
      }
      return rows;
    });
  }

  /** Object, name and value (as text) of each attribute. */
  static VirtualTable attributes(String file, String session) {
    StructType schema = new StructType()
        .add("object", DataTypes.StringType, false)
        .add("name", DataTypes.StringType, false)
        .add("value", DataTypes.StringType, true);
    return new VirtualTable(ATTRIBUTES, schema, () -> {
      List<InternalRow> rows = new ArrayList<>();
      for (JsonNode object : Description.parse(NativeFile.objects(file, session))) {
        for (JsonNode attribute : object.get("attributes")) {
          rows.add(row(text(object.get("path")), text(attribute.get(0)), text(attribute.get(1))));
        }
      }
      return rows;
    });
  }

  private static InternalRow row(Object... values) {
    return new GenericInternalRow(values);
  }

  private static UTF8String text(JsonNode value) {
    return value == null || value.isNull() ? null : UTF8String.fromString(value.asText());
  }

  private static GenericArrayData shape(JsonNode extents) {
    if (extents == null || extents.isNull()) {
      return null;
    }
    long[] shape = new long[extents.size()];
    for (int axis = 0; axis < shape.length; axis++) {
      shape[axis] = extents.get(axis).asLong();
    }
    return new GenericArrayData(shape);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public StructType schema() {
    return schema;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return Collections.singleton(TableCapability.BATCH_READ);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return () -> new LocalScan() {
      @Override
      public StructType readSchema() {
        return schema;
      }

      @Override
      public InternalRow[] rows() {
        return rows.get().toArray(new InternalRow[0]);
      }
    };
  }
}

"""How fast images are read and decoded from image files, TFRecord or Parquet, measured on a Spark cluster.

`plan` says what is measured, `sources` gives images, `pictures` encodes and decodes them, `formats` puts them into
files and gets them back (`tfrecord`, `example` and `crc32c` are TensorFlow's format by hand), `places` is where files
are, and `app` has Spark do it all and takes the time.
"""
